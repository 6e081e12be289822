"""Who runs, with which settings, and which ratios are the goals: all of it data."""

from dataclasses import dataclass

from contender import Contender

BEAMS = {1: "greedy", 4: "beam 4"}


def contenders(cores: int) -> list[Contender]:
    """Ours first, then CTranslate2 by hand, then `transformers`."""
    as_installed = {"inter_threads": 1, "intra_threads": 0}
    by_hand = {"inter_threads": cores, "intra_threads": 1}
    rows = [
        Contender("torch", "regard torch", "regard", {"engine": "torch"}),
        Contender("auto", "regard auto", "regard", {"engine": "auto"}),
        Contender(
            "shortlist", "regard auto, shortlist", "regard", {"engine": "auto", "shortlist": True}
        ),
    ]
    for layout, label, threads in (
        ("default", "default", as_installed),
        ("best", "best", by_hand),
    ):
        for key, compute in (("fp32", "float32"), ("int8", "int8")):
            options = {"compute_type": compute, **threads}
            rows.append(
                Contender(f"{layout}-{key}", f"CTranslate2 {key}, {label}", "ctranslate2", options)
            )
    return [*rows, Contender("transformers", "transformers fp32", "transformers", {})]


@dataclass(frozen=True)
class Goal:
    """`ours` against the best of `theirs`: a ratio to reach, or for a latency one not to pass."""

    ours: str
    theirs: tuple[str, ...]
    label: str  # how the best of `theirs` is called
    of: str  # "speed" (tokens/s) or "latency"
    bounds: dict[int, float]  # beam → ratio


DEFAULT, BY_HAND = ("default-fp32", "default-int8"), ("best-fp32", "best-int8")
GOALS = (
    Goal("auto", ("default-int8",), "CTranslate2 int8 as installed", "speed", {1: 3.0, 4: 2.2}),
    Goal("auto", BY_HAND, "CTranslate2's best layout", "speed", {1: 1.0, 4: 1.0}),
    Goal("shortlist", BY_HAND, "CTranslate2's best layout", "speed", {1: 1.2, 4: 1.2}),
    Goal("auto", DEFAULT + BY_HAND, "CTranslate2's best latency", "latency", {1: 1.1, 4: 1.1}),
    Goal("torch", ("transformers",), "transformers", "speed", {1: 5.0, 4: 5.0}),
    Goal("torch", ("default-fp32",), "CTranslate2 fp32 as installed", "speed", {1: 1.0, 4: 1.0}),
    Goal("torch", ("best-fp32",), "CTranslate2 fp32 best layout", "speed", {1: 1.0, 4: 1.0}),
)
BLEU_GOAL = 0.2  # auto, with and without the shortlist: no further than this from the torch engine
COLD_GOALS = {"torch": 1.3, "ctranslate2": 0.5}  # times the bare `import torch`
