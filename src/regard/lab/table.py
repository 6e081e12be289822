"""The experiments by their names, in the order of the notes."""

from regard.errors import MisuseError, nearest
from regard.lab.experiment import Experiment
from regard.lab.experiments import (
    bank,
    heads,
    learned,
    mask,
    norm,
    order,
    positions_why,
    quadratic,
    residual,
    scale,
)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        bank,
        learned,
        scale,
        heads,
        order,
        positions_why,
        residual,
        norm,
        mask,
        quadratic,
    )
}


def experiment_named(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        expected = f"one of {', '.join(EXPERIMENTS)}, or all"
        raise MisuseError(
            "experiment", got=name, expected=expected, advice=nearest(name, EXPERIMENTS)
        )
    return EXPERIMENTS[name]
