"""The self-test before training: which precision, how many workers of how many threads.

layout     every workers × threads that makes up the cores, on the run's own batches
precision  bf16 is tried where the processor survives it and a matrix product in it is clearly
           faster, and taken if steps are

A duel between the best way so far and the next one: both stand ready and take turns at the same
batches, so that what else the machine does in a moment falls on both. The median of the rounds
decides. Ways come from the simplest on, fewest workers and fp32 first; the more complicated one has
to be clearly faster, else it is noise that chooses.

Only gradients are computed: the weights stay as they are. What is chosen is stored in the run.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import torch

from regard.data.batch import Batch
from regard.draw.terminal.progress import progress_bar
from regard.engines.autotune import layouts_for
from regard.model.transformer import Transformer
from regard.processor.caps import our_caps, users_caps
from regard.processor.machine import cores, this_machine
from regard.processor.simulate import dies_as_simulated
from regard.processor.survives import insist_on, ruled_out
from regard.runs.sections import TrainSection
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.shared import can_share
from regard.training.worker import LossOf

SECONDS = 3.0  # that a duel takes, at most one round longer
ROUNDS = 3  # of a duel, unless it takes too long
MORE_ROUNDS, MORE_SECONDS = 9, 1.0  # as many where steps are so short that there is time for them
MARGIN = 1.1  # times that the more complicated way has to be faster to be taken
FASTER = 1.2  # times a product in bf16 has to be faster for whole steps to be tried


@dataclass(frozen=True)
class TuningResult:
    """What was chosen, and the tokens per second of each way that was tried."""

    compute: Compute
    speeds: dict[str, float]

    def record(self) -> dict[str, object]:
        """For run.json."""
        return {"compute": asdict(self.compute), "speeds": self.speeds, "bits": _bits()}


def _bits() -> dict[str, str]:
    """What the last bits of a sum depend on besides the way to compute it."""
    cpu = [this_machine().cpu, torch.backends.cpu.get_cpu_capability()]
    cpu += [f"{name}={value}" for name, value in sorted({**users_caps(), **our_caps()}.items())]
    return {"torch": torch.__version__, "cpu": ", ".join(cpu)}


def changed_since(info: Mapping[str, Any]) -> str:
    """Why a run with this run.json cannot go on bit by bit here; empty if it can."""
    before = info.get("bits")
    if before is None or "compute" not in info:
        return "an earlier version of regard began it"
    return "; ".join(
        f"it was trained with {name} {before.get(name)}, here is {value}"
        for name, value in _bits().items()
        if before.get(name) != value
    )


def choose_compute(
    model: Transformer,
    loss_of: LossOf,
    groups: Callable[[], Iterator[Sequence[Batch]]],
    train: TrainSection,
    device: torch.device,
) -> TuningResult:
    """The fastest way to compute steps like these, within what the recipe fixes."""
    total = train.threads or cores()
    if train.workers:
        layouts = [(train.workers, max(1, total // train.workers))]
    elif device.type == "cpu" and can_share():
        layouts = layouts_for(total)[::-1]
    else:
        layouts = [(1, total)]
    if train.precision == "bf16" and device.type == "cpu":
        insist_on("bf16", "train.precision", '"fp32" or "auto"')
    precision = "fp32" if train.precision == "auto" else train.precision
    ways = [Compute(precision, *layout, train.kernels) for layout in layouts]
    half = train.precision == "auto" and bf16_is_faster(device)
    if len(ways) == 1 and not half:
        return TuningResult(ways[0], {})
    sample = _sample(groups)
    with progress_bar("measuring ways to compute a step", len(ways) - 1 + half) as bar:
        return tournament(
            ways, half, lambda way: Contender(model, loss_of, sample, way, train.seed), bar.advance
        )


class Contender:
    """A way to compute, ready to take steps; the first one starts processes and fills caches."""

    def __init__(
        self,
        model: Transformer,
        loss_of: LossOf,
        sample: Sequence[Sequence[Batch]],
        way: Compute,
        seed: int,
    ) -> None:
        self.way, self._model, self._sample = way, model, sample
        self._workers = DataParallel(model, loss_of, way, seed)
        self.speeds: list[float] = []
        self.turn(0)
        self.speeds.clear()

    def turn(self, number: int) -> float:
        """Seconds of a step on one group of the sample; its tokens a second are noted."""
        group = self._sample[number % len(self._sample)]
        torch.set_num_threads(self.way.threads)  # those of the other one were set meanwhile
        begun = time.perf_counter()
        self._workers.gradients(0, group)
        seconds = max(time.perf_counter() - begun, 1e-9)
        self.speeds.append(sum(batch.tokens for batch in group) / seconds)
        return seconds

    def close(self) -> None:
        """End the workers; the weights are as they were."""
        self._workers.close()
        self._model.zero_grad(set_to_none=True)


def tournament(
    ways: Sequence[Compute],
    half: bool,
    ready: Callable[[Compute], Contender],
    advance: Callable[[], None] = lambda: None,
) -> TuningResult:
    """The winner of duels, in the order of `ways`; with `half` it meets itself in bf16 at last."""
    speeds: dict[Compute, float] = {}
    with ExitStack() as still_open:
        best = ready(ways[0])
        still_open.callback(lambda: best.close())
        challengers = [*ways[1:], *([None] if half else [])]
        for way in challengers:
            other = ready(way or replace(best.way, precision="bf16"))
            try:
                is_faster = duel(best, other) > MARGIN
            except BaseException:
                other.close()
                raise
            for one in (best, other):
                speeds[one.way] = median(one.speeds)
            best, loser = (other, best) if is_faster else (best, other)
            loser.close()
            advance()
    return TuningResult(best.way, {str(way): round(speed, 1) for way, speed in speeds.items()})


def duel(best: Contender, other: Contender) -> float:
    """How many times as fast the other one is: the median over rounds on the same batches."""
    ratios: list[float] = []
    spent = 0.0
    while spent < SECONDS:
        seconds = best.turn(len(ratios)), other.turn(len(ratios))
        ratios.append(seconds[0] / seconds[1])
        spent += sum(seconds)
        if len(ratios) >= (ROUNDS if spent > MORE_SECONDS else MORE_ROUNDS):
            break
    return median(ratios)


def _sample(groups: Callable[[], Iterator[Sequence[Batch]]]) -> list[Sequence[Batch]]:
    return [group for group, _ in zip(groups(), range(ROUNDS + 1), strict=False)]


def measured(
    model: Transformer,
    loss_of: LossOf,
    groups: Callable[[], Iterator[Sequence[Batch]]],
    way: Compute,
    train: TrainSection,
) -> float:
    """The speed of one way to compute, where there was no choice and so nothing was measured."""
    with closing(Contender(model, loss_of, _sample(groups), way, train.seed)) as alone:
        spent = 0.0
        while spent < SECONDS and len(alone.speeds) < ROUNDS:
            spent += alone.turn(len(alone.speeds))
        return median(alone.speeds)


def bf16_is_faster(device: torch.device) -> bool:
    """Whether one matrix product says so; without hardware for it bf16 is many times slower.

    Not even tried where the processor would not survive it.
    """
    if device.type == "cpu" and ruled_out("bf16"):
        return False
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a = torch.ones(512, 512, dtype=dtype, device=device)
        runs = []
        with dies_as_simulated():
            a @ a
            for _ in range(5):
                begun = time.perf_counter()
                float((a @ a)[0, 0])  # reading a number waits for the device
                runs.append(time.perf_counter() - begun)
        seconds[dtype] = median(runs)
    return seconds[torch.float32] > FASTER * seconds[torch.bfloat16]
