"""One step on the largest batch of a token budget, under a limit, in a process of its own.

python -m regard.fit.try_batch FOLDER BUDGET MEGABYTES     prints {"fits": …, "peak": …}
"""

import json
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.checkpoint.native import Checkpoint, read_json, save_checkpoint
from regard.config import build
from regard.errors import TrainingError
from regard.fit.job import doers_of
from regard.fit.preflight import largest_batch
from regard.fit.trainer import Fit
from regard.runs.folder import Run
from regard.runs.recipe import make_recipe
from regard.training.compute import Compute
from regard.training.memory_limit import MEGABYTE, is_out_of_memory, peak_memory, peak_of_children

SECONDS = 3.0  # that steps are measured for


def try_batch(folder: Path, budget: int, megabytes: int) -> dict[str, Any]:
    """Whether it fits, the peak in megabytes and the tokens per second."""
    run = Run(folder)
    recipe = make_recipe(read_json(run.recipe), str(run.recipe))
    limits = replace(recipe.train, token_budget=budget, memory=megabytes)
    recipe = replace(recipe, train=limits)
    try:
        fit = Fit(run, recipe, doers_of(recipe).load(run, recipe))
        fit.compute = build(Compute, run.read_info()["compute"], str(run.info))
        fit.adapt()
        with fit.memory_limit():
            speed = _steps(run, fit)
    except (MemoryError, RuntimeError, TrainingError) as error:
        if not is_out_of_memory(error):
            raise
        return {"fits": False}
    peak = (peak_memory() or 0) + (fit.compute.workers - 1) * peak_of_children()
    return {"fits": True, "peak": peak // MEGABYTE, "speed": round(speed, 1)}


def _steps(run: Run, fit: Fit) -> float:
    numbers = largest_batch(fit.job.lengths, fit.model.spec, fit.recipe.train, fit.job.parts)
    batch = fit.job.batch(numbers)
    group = [batch] * fit.recipe.train.accumulate
    seconds: list[float] = []
    with closing(fit.crew()) as crew:
        while not seconds or (len(seconds) < 4 and sum(seconds) < SECONDS):
            begun = time.perf_counter()
            crew.gradients(1, group)
            if crew.halved:
                raise MemoryError
            fit.optimizer.step()
            seconds.append(time.perf_counter() - begun)
    content = Checkpoint(dict(fit.model.named_parameters()), fit.optimizer_tensors(), {})
    save_checkpoint(run.folder / "tried", 1, content)
    # The first step also asks the system for its memory; where it was slow it was the only one.
    return batch.tokens * len(group) / min(seconds)


if __name__ == "__main__":
    print(json.dumps(try_batch(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
