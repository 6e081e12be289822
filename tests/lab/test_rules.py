"""Verdicts: what a rule makes of measures, and that the rule of each experiment can fail."""

import math
from collections.abc import Callable

import pytest

from regard.lab.experiments import positions_why, scale
from regard.lab.rule import Condition, Measured, decide, difference, exponent, number, ratio
from regard.lab.table import EXPERIMENTS

ABOVE = Condition("a is 1 or more", number("v", "a"), least=1.0)
BELOW = Condition("b is 2 or less", number("v", "b"), most=2.0)


def seed(a: float, b: float = 0.0) -> Measured:
    return {"v": {"a": a, "b": b}}


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [
        ([seed(1), seed(2), seed(3)], "holds"),
        ([seed(0), seed(0.5), seed(0.9)], "does not hold"),
        ([seed(0), seed(2), seed(2)], "not decided"),
        ([seed(2, b=3), seed(2, b=4)], "does not hold"),
        ([seed(2, b=3), seed(2, b=1)], "not decided"),
        ([seed(math.nan), seed(math.nan)], "does not hold"),
        ([], "not decided"),
    ],
)
def test_a_verdict_is_that_of_all_conditions_over_all_seeds(
    seeds: list[Measured], verdict: str
) -> None:
    assert decide([ABOVE, BELOW], seeds) == verdict


def test_numbers_of_which_conditions_are_made() -> None:
    measured = {"one": {"x": 6.0}, "other": {"x": 2.0}, "none": {"x": 0.0}}
    assert difference("x", "one", "other")(measured) == 4.0
    assert ratio("x", "one", "other")(measured) == 3.0
    assert math.isnan(ratio("x", "one", "none")(measured))
    squares = {f"{n}": {"cost": 7.0 * n**2} for n in (2, 4, 8)}
    assert exponent("cost", {2.0: "2", 4.0: "4", 8.0: "8"})(squares) == pytest.approx(2.0)


Of = Callable[[bool], Measured]  # measures of an experiment where its claim is right, or wrong


def alike(variants: tuple[str, ...], **measures: float) -> dict[str, dict[str, float]]:
    return {variant: dict(measures) for variant in variants}


def order(right: bool) -> Measured:
    told, moved = (0.0, 1e-15) if right else (0.9, 0.4)
    return {"none": {"moved": moved, "told apart": told}} | alike(
        ("sinusoidal", "learned", "rotary"), **{"moved": 0.5, "told apart": 0.9}
    )


def scaled(right: bool) -> Measured:
    """Wrong: scores of a variance that does not grow, and a gradient that explodes."""
    sizes = {}
    for d in scale.SIZES:
        gradient = 0.2 * (4 / d if right else d / 4)
        sizes[f"d = {d}"] = {
            "variance / d": 1.02 if right else 1 / d,
            "variance, divided": 0.98 if right else 1 / d**2,
            "gradient, plain": gradient,
            "gradient, divided": 0.2,
        }
    return sizes


def mask(right: bool) -> Measured:
    loss, bleu = (0.1, 3.0) if right else (0.9, 60.0)
    return {
        "masked": {"training loss": 1.0, "BLEU": 60.0},
        "unmasked": {"training loss": loss, "BLEU": bleu},
    }


def norm(right: bool) -> Measured:
    still = {"moved by 56 padding": 1e-7, "moved by company": 1e-7, "loss when asked": 1.0}
    moved = {"moved by 56 padding": 0.3, "moved by company": 0.2, "loss when asked": 2.0}
    return {"layer norm": still, "batch norm": moved if right else still}


def quadratic(right: bool) -> Measured:
    power = 2 if right else 1
    lengths = (64, 128, 256, 512)
    explicit = {
        f"explicit, L = {n}": {"operations": 9.0 * n**power, "bytes": 8.0 * n**power}
        for n in lengths
    }
    return explicit | {f"fused, L = {n}": {"bytes": 4.0 * n} for n in lengths}


def positions(right: bool) -> Measured:
    every = dict.fromkeys(positions_why.PROPERTIES, 1.0)
    others = {name: {**every, "unique": 0.0} for name in positions_why.TABLES}
    return others | {"sinusoids": every if right else {**every, "bounded": 0.0}}


def residual(right: bool) -> Measured:
    return {
        "with residual, 24 layers": {"share": 0.5},
        "only norm, 24 layers": {"share": 0.001 if right else 1.9},
    }


def heads(right: bool) -> Measured:
    """Wrong: one head is best at all three, and no better than the mean of all."""
    relations = ("article → noun", "it → its noun", "verb → subject")
    return {
        relation: {
            "best head": float(place) if right else 5.0,
            "accuracy": 0.9 if right else 0.2,
            "mean of all heads": 0.2,
            "chance": 0.1,
        }
        for place, relation in enumerate(relations)
    }


def bank(right: bool) -> Measured:
    return {
        "row of E": {"accuracy": 0.5},
        "layer 4": {"accuracy": 0.95 if right else 0.55},
    }


def learned(right: bool) -> Measured:
    bare = 0.55 if right else 0.93
    return {"W_Q, W_K, W_V": {"decided right": 0.95}, "softmax(X Xᵀ) X": {"decided right": bare}}


MEASURES: dict[str, Of] = {
    "order": order,
    "scale": scaled,
    "mask": mask,
    "norm": norm,
    "quadratic": quadratic,
    "positions-why": positions,
    "residual": residual,
    "heads": heads,
    "bank": bank,
    "learned": learned,
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_rule_of_an_experiment_can_say_yes_and_no(name: str) -> None:
    conditions = EXPERIMENTS[name].conditions(True)
    assert decide(conditions, [MEASURES[name](True)]) == "holds"
    assert decide(conditions, [MEASURES[name](False)] * 3) == "does not hold"
    one_of_three = [MEASURES[name](True), MEASURES[name](True), MEASURES[name](False)]
    assert decide(conditions, one_of_three) == "not decided"


def test_without_one_of_them_the_claim_does_not_hold() -> None:
    """A gradient that explodes fails the rule of `scale` by itself."""
    measured = {name: dict(numbers) for name, numbers in scaled(True).items()}
    measured["d = 1024"]["gradient, plain"] = 50.0
    assert decide(EXPERIMENTS["scale"].conditions(True), [measured]) == "does not hold"
