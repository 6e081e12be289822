"""The curves of runs, out of their logs: what `regard plot` draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.draw.curve import Point
from regard.errors import DataError
from regard.tasks.log import read_log
from regard.tasks.run import open_run

What = Literal["loss", "bleu", "rate"]
NAMES: dict[What, str] = {
    "loss": "loss (nats per token)",
    "bleu": "BLEU of validation (greedy)",
    "rate": "learning rate",
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
            "loss": Curve(name, _points(steps, "plain_loss"), _points(checks, "loss")),
            "bleu": Curve(name, [], _points(checks, "bleu")),
            "rate": Curve(name, _points(steps, "learning_rate"), []),
        }[what]
        if not found.steps and not found.checks:
            raise DataError(f"{folder}: its log holds no {what} to draw")
        curves.append(found)
    return curves


def _points(records: Sequence[dict[str, float]], key: str) -> list[Point]:
    return [(r["step"], r[key]) for r in records if r.get(key) is not None]


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [folder.absolute().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
