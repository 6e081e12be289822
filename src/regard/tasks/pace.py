"""The self-test before training: which precision, how many workers of how many threads.

layout     every workers × threads that makes up the cores, on the run's own batches
precision  bf16 is tried where a matrix product in it is clearly faster, and taken if steps are

Only gradients are computed: the weights stay as they are. What is chosen is stored in the run.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import torch

from regard.data.text_batch import AnyBatch
from regard.draw.progress import progress_bar
from regard.model.transformer import Transformer
from regard.tasks.choice import cores, this_machine
from regard.tasks.recipe_sections import TrainSection
from regard.tasks.settle import layouts_for
from regard.train.compute import Compute
from regard.train.crew import Crew
from regard.train.shared import can_share
from regard.train.worker import LossOf

SECONDS = 3.0  # that one way to compute is measured for, at most one step longer
STEPS = 5  # and so many steps
FASTER = 1.2  # times a product in bf16 has to be faster for whole steps to be tried


@dataclass(frozen=True)
class Pace:
    """What was chosen, and the tokens per second of each way that was tried."""

    compute: Compute
    speeds: dict[str, float]

    def record(self) -> dict[str, object]:
        """For run.json."""
        return {"compute": asdict(self.compute), "speeds": self.speeds, "bits": _bits()}


def _bits() -> dict[str, str]:
    """What the last bits of a sum depend on besides the way to compute it."""
    capability = torch.backends.cpu.get_cpu_capability()
    return {"torch": torch.__version__, "cpu": f"{this_machine().cpu}, {capability}"}


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
    groups: Callable[[], Iterator[Sequence[AnyBatch]]],
    train: TrainSection,
    device: torch.device,
) -> Pace:
    """The fastest way to compute steps like these, within what the recipe fixes."""
    total = train.threads or cores()
    if train.workers:
        layouts = [(train.workers, max(1, total // train.workers))]
    elif device.type == "cpu" and can_share():
        layouts = layouts_for(total)
    else:
        layouts = [(1, total)]
    precision = "fp32" if train.precision == "auto" else train.precision
    ways = [Compute(precision, *layout, train.kernels) for layout in layouts]
    half = train.precision == "auto" and bf16_is_faster(device)
    if len(ways) == 1 and not half:
        return Pace(ways[0], {})
    sample = [group for group, _ in zip(groups(), range(STEPS + 1), strict=False)]
    speeds: dict[Compute, float] = {}
    with progress_bar("measuring ways to compute a step", None) as bar:
        for way in ways:
            speeds[way] = _speed(model, loss_of, sample, way, train.seed)
            bar.advance()
        if half:
            way = replace(max(speeds, key=lambda w: speeds[w]), precision="bf16")
            speeds[way] = _speed(model, loss_of, sample, way, train.seed)
    best = max(speeds, key=lambda w: speeds[w])
    return Pace(best, {str(way): round(speed, 1) for way, speed in speeds.items()})


def measured(
    model: Transformer,
    loss_of: LossOf,
    groups: Callable[[], Iterator[Sequence[AnyBatch]]],
    way: Compute,
    train: TrainSection,
) -> float:
    """The speed of one way to compute, where there was no choice and so nothing was measured."""
    sample = [group for group, _ in zip(groups(), range(STEPS + 1), strict=False)]
    return _speed(model, loss_of, sample, way, train.seed)


def bf16_is_faster(device: torch.device, size: int = 512) -> bool:
    """Whether one matrix product says so; without hardware for it bf16 is many times slower."""
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a = torch.ones(size, size, dtype=dtype, device=device)
        a @ a
        runs = []
        for _ in range(5):
            begun = time.perf_counter()
            float((a @ a)[0, 0])  # reading a number waits for the device
            runs.append(time.perf_counter() - begun)
        seconds[dtype] = median(runs)
    return seconds[torch.float32] > FASTER * seconds[torch.bfloat16]


def _speed(
    model: Transformer,
    loss_of: LossOf,
    sample: Sequence[Sequence[AnyBatch]],
    way: Compute,
    seed: int,
) -> float:
    """Source and target tokens per second: the median of some steps after a first one."""
    begun, found = 0.0, []
    with closing(Crew(model, loss_of, way, seed)) as crew:
        for number, group in enumerate(sample):
            started = time.perf_counter()
            crew.gradients(0, group)
            now = time.perf_counter()
            begun = begun or now  # the first step starts processes and fills caches
            if number or len(sample) == 1:
                found.append(sum(batch.tokens for batch in group) / (now - started))
            if number and now - begun > SECONDS:
                break
    model.zero_grad(set_to_none=True)
    return median(found)
