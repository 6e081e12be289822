"""The curves of runs, out of their logs: what `regard plot` draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.draw.curve import Point
from regard.errors import DataError
from regard.tasks.log import read_log
from regard.tasks.run import open_run

What = Literal["loss", "bleu", "rate"]
NAMES: dict[What, str] = {
    "loss": "loss",
    "bleu": "BLEU of validation (greedy)",
    "rate": "learning rate",
}

# The score of a validation, by its key in the log. A classifier's log has accuracy and F1; it is
# judged by F1 where several labels may hold.
SCORES = {"bleu": "BLEU", "accuracy": "accuracy", "f1": "F1", "spearman": "Spearman"}
# What the loss of an objective is measured in; those that add up several things have none.
UNITS = {
    "translate": "nats per token",
    "classify": "nats per text",
    "fill": "nats per hidden token",
    "tag": "nats per word",
}


@dataclass(frozen=True)
class Curve:
    """One run: what was measured at every logged step, and at every validation."""

    name: str
    steps: list[Point]
    checks: list[Point]


def read_curves(folders: Sequence[Path], what: What) -> list[Curve]:
    """A curve for each run; a run that has nothing to draw is an error that names it."""
    names = _names(folders)
    curves = []
    for folder, name in zip(folders, names, strict=True):
        records = read_log(open_run(folder).log)
        steps = [r for r in records if r.get("kind") == "train"]
        checks = [r for r in records if r.get("kind") == "validation"]
        found = {
            "loss": Curve(name, points_of_log(steps, "plain_loss"), points_of_log(checks, "loss")),
            "bleu": Curve(name, [], points_of_log(checks, "bleu")),
            "rate": Curve(name, points_of_log(steps, "learning_rate"), []),
        }[what]
        if not found.steps and not found.checks:
            raise DataError(f"{folder}: its log holds no {what} to draw")
        curves.append(found)
    return curves


def score_key(checks: Sequence[dict[str, Any]], several_labels: bool = False) -> str:
    """The key of what these validations are judged by; empty if they have no score."""
    keys = [key for key in SCORES if any(r.get(key) is not None for r in checks)]
    return "f1" if several_labels and "f1" in keys else next(iter(keys), "")


def points_of_log(records: Sequence[dict[str, Any]], key: str) -> list[Point]:
    """(step, value) of the records that have it."""
    return [(r["step"], r[key]) for r in records if r.get(key) is not None]


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [folder.absolute().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
