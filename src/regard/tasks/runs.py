"""Which runs there are, how far each came and how good it is. It reads small files, and no torch.

A run that says "training" while nobody holds its lock was cut off: killed, or out of power.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint.files import read_json
from regard.config import build
from regard.errors import MisuseError, RegardError
from regard.model.spec import Spec, parameter_count
from regard.tasks.log import read_log
from regard.tasks.run import Run, only_one

DEPTH = 3  # folders within folders that are looked into


@dataclass(frozen=True)
class Row:
    """One run; None where it does not say."""

    folder: str
    state: str  # training, cut off, stopped, finished, damaged
    step: int
    steps: int | None
    loss: float | None  # the best on the validation pairs
    bleu: float | None
    parameters: int | None
    data: str
    seconds: float  # since it last wrote something
    problem: str = ""


def list_runs(folder: Path) -> list[Row]:
    """The runs below a folder, or the folder's own; those that wrote last come first."""
    if not folder.is_dir():
        hint = "; `regard train` makes runs in runs/" if folder == Path("runs") else ""
        raise MisuseError(f"{folder}: no such folder{hint}")
    return sorted((_row(run) for run in _found(folder)), key=lambda row: row.seconds)


def _found(folder: Path) -> Iterator[Run]:
    seen = set()
    for depth in range(DEPTH + 1):
        for info in folder.glob("/".join(["*"] * depth + ["run.json"])):
            if info.parent not in seen:
                seen.add(info.parent)
                yield Run(info.parent)


def _row(run: Run) -> Row:
    written = [path.stat().st_mtime for path in (run.info, run.log) if path.exists()]
    age = max(0.0, time.time() - max(written))
    try:
        info, recipe = run.read_info(), read_json(run.recipe)
        spec = build(Spec, read_json(run.spec), str(run.spec))
        checks = [r for r in read_log(run.log) if r.get("kind") == "validation"]
        return Row(
            folder=str(run.folder),
            state=_state(run, str(info.get("state"))),
            step=_last_step(run, info),
            steps=recipe["train"].get("steps"),
            loss=min((r["loss"] for r in checks), default=None),
            bleu=max((r["bleu"] for r in checks if r.get("bleu") is not None), default=None),
            parameters=parameter_count(spec),
            data=_data(recipe["data"]),
            seconds=age,
        )
    except (RegardError, KeyError, TypeError, AttributeError) as error:
        return Row(str(run.folder), "damaged", 0, None, None, None, None, "", age, str(error))


def _state(run: Run, said: str) -> str:
    """What the run says of itself, unless nobody trains it any more."""
    if said != "training":
        return said
    try:
        with only_one(run):
            return "cut off"
    except (MisuseError, OSError):  # held by its training; or not ours to write to
        return said


def _last_step(run: Run, info: dict[str, Any]) -> int:
    """The last step that is saved or, while it trains, logged."""
    logged = [r["step"] for r in read_log(run.log)[-1:]] if info.get("state") == "training" else []
    return max(int(step) for step in (info.get("step", 0), *logged))


def _data(section: dict[str, Any]) -> str:
    if section.get("phrasebook"):
        return f"phrasebook {section['phrasebook']}"
    if section.get("set"):
        return str(section["set"])
    names = [Path(section[key]).name for key in ("source", "target", "texts") if section.get(key)]
    return " → ".join(names)


def age_in_words(seconds: float) -> str:
    """How long ago: 5 minutes, 3 hours, 12 days."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (count > 1)}"
    return "now"
