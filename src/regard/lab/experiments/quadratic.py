"""quadratic: the cost of attention grows with the square of the length.

Counted: the multiplications and additions of the products, and the bytes of every tensor that is
made on the way. torch's counter does not see into the fused kernel: its operations are left out.
Timed beside it, the best of some repeats; the verdict rests on what is counted, since a time is as
good as the machine is quiet.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from regard.draw.figure.chart import Chart, Measurements
from regard.lab.experiment import Experiment, LabResult
from regard.lab.rule import Condition, exponent
from regard.model.attention import explicit_attention, fused_attention
from regard.model.masks import Mask

PATHS: dict[str, Callable[..., Tensor]] = {
    "explicit": explicit_attention,
    "fused": fused_attention,
}
LENGTHS, QUICK_LENGTHS = (128, 256, 512, 1024, 2048), (64, 128, 256, 512)
HEADS, SIZE = 4, 32
REPEATS, QUICK_REPEATS = 5, 2


def lengths(quick: bool) -> tuple[int, ...]:
    return QUICK_LENGTHS if quick else LENGTHS


def variants_of(quick: bool) -> tuple[str, ...]:
    return tuple(_name(path, length) for path in PATHS for length in lengths(quick))


def _name(path: str, length: int) -> str:
    return f"{path}, L = {length}"


def _sizes(path: str, quick: bool) -> dict[float, str]:
    return {float(length): _name(path, length) for length in lengths(quick)}


class BytesMade(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of the tensors that operations return; one that shares the memory of an
    argument is no new one."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        there = {x.untyped_storage().data_ptr() for x in _tensors(args)}
        for x in _tensors((result,)):
            if x.untyped_storage().data_ptr() not in there:
                self.total += x.numel() * x.element_size()
        return result


def _tensors(values: Any) -> list[Tensor]:
    """Those of a tuple or list, and of the tuples and lists in it."""
    if isinstance(values, Tensor):
        return [values]
    inside = values if isinstance(values, tuple | list) else ()
    return [tensor for value in inside for tensor in _tensors(value)]


@torch.no_grad()
def measure(variant: str, seed: int, quick: bool) -> dict[str, float]:
    path, _, length = variant.partition(", L = ")
    chance = torch.Generator().manual_seed(seed)
    shape = (1, HEADS, int(length), SIZE)
    q, k, v = (torch.randn(shape, generator=chance) for _ in range(3))
    attend = PATHS[path]
    with BytesMade() as made:
        attend(q, k, v, Mask())
    counted = {"bytes": float(made.total)}
    if path == "explicit":
        with FlopCounterMode(display=False) as counter:
            attend(q, k, v, Mask())
        counted["operations"] = float(counter.get_total_flops())
    times = []
    for _ in range(QUICK_REPEATS if quick else REPEATS):
        started = time.perf_counter()
        attend(q, k, v, Mask())
        times.append(time.perf_counter() - started)
    return {**counted, "milliseconds": 1000 * min(times)}


def rule(quick: bool) -> tuple[Condition, ...]:
    explicit, fused = _sizes("explicit", quick), _sizes("fused", quick)
    return (
        Condition(
            "operations grow as L to the power of 1.9 to 2.1",
            exponent("operations", explicit),
            least=1.9,
            most=2.1,
        ),
        Condition(
            "bytes of the explicit path grow as L to the power of 1.8 or more",
            exponent("bytes", explicit),
            least=1.8,
        ),
        Condition(
            "those of the fused kernel as L to the power of 1.2 or less",
            exponent("bytes", fused),
            most=1.2,
        ),
    )


def chart(outcome: LabResult) -> Chart:
    lines = [
        Measurements(
            f"{what}, {path}",
            [(x, y / unit) for x, y in outcome.points(_sizes(path, outcome.quick), measure)],
        )
        for what, measure, unit in (
            ("megabytes", "bytes", 1e6),
            ("milliseconds", "milliseconds", 1.0),
        )
        for path in PATHS
    ]
    title = "What attention costs by the length of the text"
    subtitle = f"{HEADS} heads of {SIZE}, one sentence, forward; both axes by powers"
    return Chart(title, subtitle, "L", "MB made on the way, or ms", lines, log_x=True, log_y=True)


def paragraph(outcome: LabResult) -> str:
    pairs = [("explicit", "operations")]
    pairs += [(path, measure) for path in PATHS for measure in ("bytes", "milliseconds")]
    slopes = {
        (path, measure): exponent(measure, _sizes(path, outcome.quick)) for path, measure in pairs
    }
    means = {
        key: sum(map(slope, outcome.seeds.values())) / len(outcome.seeds)
        for key, slope in slopes.items()
    }
    last = lengths(outcome.quick)[-1]
    explicit, fused = (outcome.mean(_name(path, last), "bytes") / 1e6 for path in PATHS)
    return (
        f"From L = {lengths(outcome.quick)[0]} to {last} the operations grow as "
        f"L^{means['explicit', 'operations']:.2f}; bytes as L^{means['explicit', 'bytes']:.2f} "
        f"where the "
        f"scores are written out and as L^{means['fused', 'bytes']:.2f} in the fused kernel, "
        f"which never "
        f"holds them whole ({explicit:,.1f} and {fused:,.1f} MB at L = {last}). Times on this "
        f"machine grew as L^{means['explicit', 'milliseconds']:.2f} and "
        f"L^{means['fused', 'milliseconds']:.2f}."
    )


EXPERIMENT = Experiment(
    "quadratic",
    "The cost of attention grows with L²",
    "Attention over a text twice as long costs four times as much, also in memory.",
    "3-fifteen-sections.md#14-limits",
    variants_of,
    measure,
    rule,
    chart,
    paragraph,
    20,
)
