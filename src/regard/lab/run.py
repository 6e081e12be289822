"""Running an experiment: a unit is one variant with one seed; what is kept is not measured again.

    out/kept/order/none-1.json       {"measures": {…}, "seconds": 3.1, "quick": false, …}

So a run that was stopped goes on with the next unit. A unit counts for the version and for the size
(quick or whole) that it was measured with.
"""

import json
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard import atomic
from regard.errors import DataError
from regard.lab.experiment import Experiment, LabResult
from regard.untrusted import read_small_file
from regard.version import __version__

SEEDS, QUICK_SEEDS = (1, 2, 3), (1,)
MOST_BYTES = 1 << 20  # of a kept unit


@dataclass(frozen=True)
class Unit:
    """One variant, measured with one seed."""

    variant: str
    seed: int
    measures: dict[str, float]
    seconds: float


def seeds_of(quick: bool) -> tuple[int, ...]:
    return QUICK_SEEDS if quick else SEEDS


def run(
    experiment: Experiment,
    quick: bool = False,
    seeds: Sequence[int] = (),
    kept: Path | None = None,
    done: Callable[[Unit], None] = lambda unit: None,
) -> LabResult:
    """Measure every variant with every seed; `done` hears of each unit, `kept` is their folder."""
    measured: dict[int, dict[str, dict[str, float]]] = {}
    seconds = 0.0
    for seed in seeds or seeds_of(quick):
        measured[seed] = {}
        for variant in experiment.variants(quick):
            unit = _unit(experiment, variant, seed, quick, kept)
            measured[seed][variant] = unit.measures
            seconds += unit.seconds
            done(unit)
    return LabResult(experiment, quick, measured, seconds)


def _unit(experiment: Experiment, variant: str, seed: int, quick: bool, kept: Path | None) -> Unit:
    path = None if kept is None else kept / experiment.name / f"{_file_name(variant)}-{seed}.json"
    if path is not None and path.exists():
        old = _read(path)
        if all(old.get(name) == value for name, value in _conditions(variant, quick).items()):
            return Unit(variant, seed, old["measures"], float(old["seconds"]))
    started = time.perf_counter()
    measures = experiment.measure(variant, seed, quick)
    unit = Unit(variant, seed, measures, time.perf_counter() - started)
    if path is not None:
        facts = {"measures": measures, "seconds": unit.seconds, **_conditions(variant, quick)}
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(path, facts)
    return unit


def _conditions(variant: str, quick: bool) -> dict[str, Any]:
    """Under which a number is comparable."""
    return {"variant": variant, "quick": quick, "version": __version__, "torch": torch.__version__}


def _file_name(variant: str) -> str:
    return re.sub(r"\W+", "-", variant).strip("-")


def _read(path: Path) -> dict[str, Any]:
    advice = "remove the file: what it holds is measured again"
    try:
        kept = json.loads(read_small_file(path, MOST_BYTES))
    except ValueError as error:
        raise DataError(path, f"is no JSON: {error}", advice=advice) from error
    numbers = kept.get("measures") if isinstance(kept, dict) else None
    is_whole = isinstance(numbers, dict) and all(
        isinstance(value, int | float) for value in [*numbers.values(), kept.get("seconds")]
    )
    if not is_whole:
        raise DataError(path, expected="a unit that regard lab kept", advice=advice)
    return dict(kept)


def setting() -> str:
    """What measured, in words: versions and the kind of processor."""
    names = f"regard {__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    return f"{names}, {platform.machine()}, {torch.get_num_threads()} thread(s)"
