"""Who learns, with which settings, and which ratios are the goals: all of it data."""

from collections.abc import Mapping
from dataclasses import dataclass

from contender import Contender

OURS, PLAIN = "regard", "plain"
WRITTEN = ("torch", "transformers")  # fp32, as people write them
EXPERT = tuple(f"{peer}-{how}" for peer in WRITTEN for how in ("bf16", "fused"))
PEERS = WRITTEN + EXPERT


def contenders(cores: int) -> list[Contender]:
    """Ours as it chooses and on its reference path, then each peer as written and by experts."""
    reference = {"precision": "fp32", "workers": 1, "threads": cores, "kernels": "plain"}
    rows = [
        Contender(OURS, "regard", "regard", {}),
        Contender(PLAIN, "regard plain", "regard", {"compute": reference}),
    ]
    fused = {"fused": True}
    for peer, name in (("torch", "torch.nn.Transformer"), ("transformers", "transformers Marian")):
        rows += [
            Contender(peer, f"{name} fp32", peer, {}),
            Contender(f"{peer}-fused", f"{name} fused", peer, fused),
            Contender(f"{peer}-bf16", f"{name} autocast", peer, fused | {"autocast": True}),
        ]
    return rows


def usual(rows: list[Contender], throughput: Mapping[str, float]) -> list[Contender]:
    """Those that run when nobody is named.

    An expert takes bf16 where the machine multiplies faster in it, else only the fused Adam.
    """
    left_out = "-fused" if bf16_pays(throughput) else "-bf16"
    return [row for row in rows if not row.key.endswith(left_out)]


def bf16_pays(throughput: Mapping[str, float]) -> bool:
    """Also where nothing was measured."""
    return throughput.get("bf16", 1.0) > throughput.get("fp32", 0.0)


@dataclass(frozen=True)
class Goal:
    """regard against the best of `theirs` in tokens per second."""

    theirs: tuple[str, ...]
    label: str
    bounds: dict[str, float]  # preset → ratio to reach


GOALS = (
    Goal(WRITTEN, "the best peer as people write it", {"tiny": 2.2, "small": 2.5, "base": 2.3}),
    Goal(EXPERT, "the best peer as experts write it", {"small": 2.0, "base": 1.4}),
)
SHARE_GOALS = {"base": 0.6}  # of the measured matrix throughput in the precision that was chosen
LOSS_GOAL = 1.01  # times the validation loss of the best peer
MEMORY_GOAL = 1.0  # times the memory of the most modest peer
