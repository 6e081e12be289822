"""The curves of runs, out of their logs: what `regard plot` draws, and a training at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.checkpoint.files import read_own_json
from regard.config import build
from regard.draw.figure.loss_curve import loss_curve_png
from regard.draw.terminal.line_chart import Point
from regard.errors import DamageError, DataError, RegardError
from regard.model.spec import Spec, parameter_count
from regard.runs.folder import RunFolder
from regard.runs.log import damage_to_log, read_log
from regard.runs.objectives import objective_of, score_of

What = Literal["loss", "score", "bleu", "rate"]
NAMES: dict[What, str] = {
    "loss": "loss",
    "score": "score of validation",
    "bleu": "BLEU of validation (greedy)",
    "rate": "learning rate",
}


@dataclass(frozen=True)
class Curve:
    """One run: what was measured at every logged step, and at every validation."""

    name: str
    steps: list[Point]
    checks: list[Point]
    title: str = ""  # what was trained, for a reader who did not name the folder
    measure: str = ""  # what the points are, where the log says


def read_curves(runs: Sequence[RunFolder], what: What) -> list[Curve]:
    """A curve for each run; a run that has nothing to draw is an error that names it."""
    names = _names([run.folder for run in runs])
    curves = []
    for run, name in zip(runs, names, strict=True):
        records, title = read_log(run.log), title_of(run)
        if damage := damage_to_log(run.log, records, run.read_info().get("log_sha256", "")):
            raise DamageError(f"{damage}; copy the run again from where it is whole")
        steps = [r for r in records if r.get("kind") == "train"]
        checks = [r for r in records if r.get("kind") == "validation"]
        score = score_of(run, checks)
        key = "bleu" if what == "bleu" else score.key if score else ""
        points: dict[str, tuple[list[Point], list[Point]]] = {
            "loss": (points_of_log(steps, "plain_loss"), points_of_log(checks, "loss")),
            "score": ([], points_of_log(checks, key)),
            "rate": (points_of_log(steps, "learning_rate"), []),
        }
        kind = "score" if what == "bleu" else what
        measure = score.name if score and kind == "score" else what
        curve = Curve(name, *points[kind], title, measure)
        if not curve.steps and not curve.checks:
            raise DataError(run.folder, f"its log holds no {what} to draw")
        curves.append(curve)
    return curves


@dataclass(frozen=True)
class CurvePicture:
    """Curves as draw/figure/comparison.py takes them, with the words around them."""

    series: list[tuple[str, list[Point], list[Point]]]
    title: str
    measure: str
    columns: int  # of the legend


def in_one_picture(curves: Sequence[Curve], what: What) -> CurvePicture:
    """What the runs have in common is the title; what they have not stands in the legend."""
    titles = {curve.title for curve in curves}
    if len(titles) == 1:
        series = [(curve.name, curve.steps, curve.checks) for curve in curves]
        return CurvePicture(series, titles.pop(), measure_of(curves, what), 4)
    named = [f"{curve.name}  ({curve.title})" for curve in curves]
    series = [(n, curve.steps, curve.checks) for n, curve in zip(named, curves, strict=True)]
    return CurvePicture(series, f"{len(curves)} runs compared", measure_of(curves, what), 1)


@dataclass(frozen=True)
class Shown:
    """Curves for the terminal; what has too few points for a line, in sentences."""

    lines: list[tuple[str, list[Point]]]
    measure: str
    sentences: list[str]


def in_terminal(curves: Sequence[Curve], what: What) -> Shown:
    """Validations where each run has several of them; else training, and the one in words."""
    measure = measure_of(curves, what)
    if what == "loss" and all(len(curve.checks) > 1 for curve in curves):
        lines = [(curve.name, curve.checks) for curve in curves]
        return Shown(lines, "validation loss", [])
    if what == "loss":
        lines = [(curve.name, curve.steps) for curve in curves if len(curve.steps) > 1]
        measure = "training loss"
    else:
        whole = [(curve.name, curve.checks or curve.steps) for curve in curves]
        lines = [(name, points) for name, points in whole if len(points) > 1]
    validated = "validation loss" if what == "loss" else measure
    sentences = [
        f"{curve.name}: one validation so far, {validated} {value:.4g} at step {step:,}"
        for curve in curves
        for step, value in (curve.checks if len(curve.checks) == 1 else [])
    ]
    return Shown(lines, measure, sentences)


def measure_of(curves: Sequence[Curve], what: What) -> str:
    """What the vertical axis shows."""
    measures = {curve.measure for curve in curves}
    return measures.pop() if what == "score" and len(measures) == 1 else NAMES[what]


def title_of(run: RunFolder) -> str:
    """Objective, data and size of a run; the folder's name where its files do not say."""
    try:
        recipe, spec = (
            read_own_json(run.recipe),
            build(Spec, read_own_json(run.spec), str(run.spec)),
        )
        data = data_in_words(recipe["data"])
        size = f"{parameter_count(spec) / 1e6:.2f} million parameters"
        return f"{objective_of(run).learned}: {data}, {size}"
    except (RegardError, KeyError, TypeError, AttributeError):
        return f"Training of {run.folder.name}"


def data_in_words(section: dict[str, Any]) -> str:
    """The corpus of a recipe: a phrasebook, a data set, or the names of files."""
    if section.get("phrasebook"):
        return f"phrasebook {section['phrasebook']}"
    if section.get("set"):
        return str(section["set"])
    if section.get("scenes"):
        return f"drawn scenes {section['scenes']}"
    names = [Path(section[key]).name for key in ("source", "target", "texts") if section.get(key)]
    return " → ".join(names)


def points_of_log(records: Sequence[dict[str, Any]], key: str) -> list[Point]:
    """(step, value) of the records that have it."""
    return [(r["step"], r[key]) for r in records if type(r.get(key)) in (int, float)]


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [folder.absolute().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]


def draw_curve(run: RunFolder, path: Path) -> None:
    """Loss, score and learning rate of a run as a PNG file."""
    records = read_log(run.log)
    keys = ("plain_loss", "learning_rate")  # a record without them was not written by regard
    steps = [
        r for r in records if r["kind"] == "train" and all(points_of_log([r], k) for k in keys)
    ]
    checks = [r for r in records if r["kind"] == "validation"]
    score = score_of(run, checks)
    loss_curve_png(
        path,
        [r["step"] for r in steps],
        [r["plain_loss"] for r in steps],
        points_of_log(checks, "loss"),
        points_of_log(checks, score.key) if score else (),
        [r["learning_rate"] for r in steps],
        title=title_of(run),
        name=run.folder.name,
        score_name=score.name if score else "",
        less_is_better=score is not None and score.less_is_better,
        unit=objective_of(run).unit,
    )
