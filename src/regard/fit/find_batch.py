"""The largest token budget that fits: estimated from shapes, then proven by a real step.

The step is made by another process under a limit, on the largest batch that the budget gives, and
a checkpoint is written after it. What it measures, memory at peak and tokens per second, is shown
for smaller budgets too: the fastest is often not the largest.

    python -m regard.fit.find_batch FOLDER BUDGET MEGABYTES     prints {"fits": …, "peak": …}
"""

import json
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.checkpoint.files import read_own_json
from regard.checkpoint.training_state import Checkpoint, save_checkpoint
from regard.config import build
from regard.errors import MisuseError, TrainingError
from regard.fit.job import code_of
from regard.fit.preflight import FIRST_USE, need_of, shapes_of
from regard.fit.request import Request
from regard.fit.train import trial
from regard.fit.trainer import Trainer
from regard.printable import Say
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe
from regard.training.compute import Compute
from regard.training.memory_limit import (
    KEPT_FREE,
    MEGABYTE,
    PROGRAM,
    free_memory,
    is_out_of_memory,
    peak_memory,
    peak_of_children,
)

GRAIN = 256  # tokens: budgets are multiples of it
FEWEST = 10  # batches of an epoch
ROWS = 5  # budgets that are measured
SECONDS = 3.0  # that steps are measured for
SMALLER = 0.85  # where a step fails for which the estimate said yes


@dataclass(frozen=True)
class Tried:
    """One budget: megabytes by the estimate and at the real peak; whether the step was made."""

    budget: int
    estimate: int
    fits: bool
    peak: int = 0
    speed: float = 0.0  # tokens per second


@dataclass(frozen=True)
class BatchTest:
    """What was tried, the smallest first, and how many megabytes there were."""

    tried: list[Tried]
    megabytes: int
    most: int  # the budget that leaves an epoch of FEWEST batches

    @property
    def largest(self) -> Tried:
        return max((one for one in self.tried if one.fits), key=lambda one: one.budget)

    @property
    def fastest(self) -> Tried:
        return max((one for one in self.tried if one.fits), key=lambda one: one.speed)


def find_batch(request: Request, say: Say) -> BatchTest:
    """Search for a recipe or own files; no run is left behind. `say` is told each try."""
    try:
        with trial(replace(request, force=True)) as trainer:
            return _search(trainer, say)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    raise MisuseError("find-batch: not even the model fits; choose a smaller one (model.preset)")


def _search(trainer: Trainer, say: Say) -> BatchTest:
    """The largest by the estimate, smaller if its step fails; then some that are smaller still."""
    free = free_memory()
    megabytes = trainer.recipe.train.memory or int((free or 0) * (1 - KEPT_FREE) / MEGABYTE)
    if not megabytes:
        raise MisuseError("find-batch", "this system does not say how much memory is free")
    most = _most(trainer)
    budget = _by_estimate(trainer, megabytes, most)
    tried: list[Tried] = []
    while not tried or not tried[-1].fits:
        if len(tried) == ROWS or budget < GRAIN:
            raise TrainingError(
                f"find-batch: no step was possible with {megabytes:,} MB, not even of "
                f"{tried[-1].budget:,} tokens; choose a smaller model (model.preset)"
            )
        tried.append(_try(trainer, budget, megabytes))
        say(_line(tried[-1]))
        budget = _grain(budget * SMALLER)
    largest = tried[-1].budget
    for smaller in dict.fromkeys(_grain(largest / 2**i) for i in range(1, ROWS)):
        if smaller >= GRAIN:
            tried.append(_try(trainer, smaller, megabytes))
            say(_line(tried[-1]))
    return BatchTest(sorted(tried, key=lambda one: one.budget), megabytes, most)


def _line(tried: Tried) -> str:
    said = f"{tried.peak:,} MB at peak, {tried.speed:,.0f} tokens/s" if tried.fits else "too large"
    return f"  {tried.budget:>9,} tokens   estimated {tried.estimate:,} MB   {said}"


def _grain(budget: float) -> int:
    return int(budget) // GRAIN * GRAIN


def _most(trainer: Trainer) -> int:
    """Larger ones would leave too few batches in an epoch."""
    source, target = trainer.job.lengths
    return max(GRAIN, _grain((int(source.sum()) + int(target.sum())) / FEWEST))


def _estimate(trainer: Trainer, budget: int) -> int:
    """Megabytes of all processes."""
    train = replace(trainer.recipe.train, token_budget=budget)
    largest = shapes_of(trainer.job.lengths, trainer.model.spec, train, trainer.job.corpora).largest
    need = need_of(trainer.recipe, trainer.model.spec, largest, trainer.compute)
    programs = trainer.compute.workers * PROGRAM + FIRST_USE
    return (need.total + programs) // MEGABYTE


def _by_estimate(trainer: Trainer, megabytes: int, most: int) -> int:
    """The largest budget up to `most` whose estimate fits, by halving the interval."""
    low, high = GRAIN, max(GRAIN, most)
    least = _estimate(trainer, low)
    if least > megabytes:
        problem = f"the model alone needs about {least:,} MB, there are {megabytes:,}"
        raise MisuseError("find-batch", problem, advice="choose a smaller one (model.preset)")
    while high - low >= GRAIN * 2:
        middle = _grain((low + high) / 2)
        fits = _estimate(trainer, middle) <= megabytes
        low, high = (middle, high) if fits else (low, middle)
    return high if _estimate(trainer, high) <= megabytes else low


def _try(trainer: Trainer, budget: int, megabytes: int) -> Tried:
    """A step of another process, which may not take more than `megabytes`."""
    estimate = _estimate(trainer, budget)
    command = [sys.executable, "-m", "regard.fit.find_batch", str(trainer.run.folder)]
    done = subprocess.run(
        [*command, str(budget), str(megabytes)], capture_output=True, text=True, check=False
    )
    try:
        step = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):  # it was ended from outside, or broke
        if done.returncode > 0 and "memory" not in done.stderr.lower():
            raise TrainingError("find-batch", f"a step failed: {done.stderr[-500:]}") from None
        return Tried(budget, estimate, fits=False)
    return Tried(budget, estimate, **step)


def try_batch(folder: Path, budget: int, megabytes: int) -> dict[str, Any]:
    """The other process: whether it fits, the peak in megabytes and the tokens per second."""
    run = RunFolder(folder)
    recipe = make_recipe(read_own_json(run.recipe), str(run.recipe))
    limits = replace(recipe.train, token_budget=budget, memory=megabytes)
    recipe = replace(recipe, train=limits)
    try:
        trainer = Trainer(run, recipe, code_of(recipe).load(run, recipe))
        trainer.compute = build(Compute, run.read_info()["compute"], str(run.info))
        trainer.adapt()
        with trainer.memory_limit():
            speed = _steps(run, trainer)
    except (MemoryError, RuntimeError, TrainingError) as error:
        if not is_out_of_memory(error):
            raise
        return {"fits": False}
    peak = (peak_memory() or 0) + (trainer.compute.workers - 1) * peak_of_children()
    return {"fits": True, "peak": peak // MEGABYTE, "speed": round(speed, 1)}


def _steps(run: RunFolder, trainer: Trainer) -> float:
    job, train = trainer.job, trainer.recipe.train
    batch = job.batch(shapes_of(job.lengths, trainer.model.spec, train, job.corpora).examples)
    group = [batch] * train.accumulate
    seconds: list[float] = []
    with closing(trainer.data_parallel()) as workers:
        while not seconds or (len(seconds) < 4 and sum(seconds) < SECONDS):
            begun = time.perf_counter()
            workers.gradients(1, group)
            if workers.halved:
                raise MemoryError
            trainer.optimizer.step()
            seconds.append(time.perf_counter() - begun)
    content = Checkpoint(dict(trainer.model.named_parameters()), trainer.optimizer_tensors(), {})
    save_checkpoint(run.folder / "tried", 1, content)
    # The first step also asks the system for its memory; where it was slow it was the only one.
    return batch.tokens * len(group) / min(seconds)


if __name__ == "__main__":
    print(json.dumps(try_batch(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
