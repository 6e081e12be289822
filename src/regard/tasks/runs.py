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
from regard.tasks.curves import SCORES, data_in_words, points_of_log, score_key
from regard.tasks.log import read_log
from regard.tasks.recipe_sections import STEPS
from regard.tasks.run import PREPARING, Run

DEPTH = 3  # folders within folders that are looked into


@dataclass(frozen=True)
class Row:
    """One run; None where it does not say."""

    folder: str
    state: str  # training, cut off, stopped, finished, damaged
    step: int = 0
    steps: int | None = None  # to reach; None where minutes alone end the run
    minutes: float | None = None  # of training, all together
    ended: str = ""  # by what, if it is finished: steps, minutes, patience (early stopping)
    loss: float | None = None  # the best on the validation pairs
    score: float | None = (
        None  # the best on the validation pairs of what its objective is judged by
    )
    score_name: str = ""  # BLEU, accuracy, F1, Spearman
    parameters: int | None = None
    data: str = ""
    seconds: float = 0.0  # since it last wrote something
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
        state, steps, minutes = _state(run, str(info.get("state"))), *_aim(recipe["train"], info)
        step = _last_step(run, info)
        spec = build(Spec, read_json(run.spec), str(run.spec))
        checks = [r for r in read_log(run.log) if r.get("kind") == "validation"]
        key = score_key(checks, recipe["data"].get("labels") == "several")
        return Row(
            folder=str(run.folder),
            state=state,
            step=step,
            steps=steps,
            minutes=minutes,
            ended=_ended(info, step, steps, minutes) if state == "finished" else "",
            loss=min((r["loss"] for r in checks), default=None),
            score=max((value for _, value in points_of_log(checks, key)), default=None),
            score_name=SCORES.get(key, ""),
            parameters=parameter_count(spec),
            data=data_in_words(recipe["data"]),
            seconds=age,
        )
    except (RegardError, KeyError, TypeError, AttributeError) as error:
        return Row(str(run.folder), "damaged", seconds=age, problem=str(error))


def _aim(train: dict[str, Any], info: dict[str, Any]) -> tuple[int | None, float | None]:
    """Steps and minutes that the run was asked for.

    Earlier versions wrote their default, 100,000, where no steps were given; they did not write
    how many they expected.
    """
    steps, minutes = train.get("steps"), train.get("minutes")
    if minutes is None:
        return (STEPS if steps is None else steps), None
    unsaid = steps == STEPS and "expected_steps" not in info
    return (None if unsaid else steps), minutes


def _ended(info: dict[str, Any], step: int, steps: int | None, minutes: float | None) -> str:
    """What the run says that ended it; an earlier version's did not say."""
    if said := info.get("ended"):
        return str(said)
    if steps is not None and step >= steps:
        return "steps"
    return "patience" if minutes is None else ""


def _state(run: Run, said: str) -> str:
    """What the run says of itself, unless nobody trains it any more."""
    return said if said not in ("training", PREPARING) or run.is_held() else "cut off"


def _last_step(run: Run, info: dict[str, Any]) -> int:
    """The last step that is saved or, while it trains, logged."""
    logged = [r["step"] for r in read_log(run.log)[-1:]] if info.get("state") == "training" else []
    return max(int(step) for step in (info.get("step", 0), *logged))


def age_in_words(seconds: float) -> str:
    """How long ago: 5 minutes, 3 hours, 12 days."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (count > 1)}"
    return "now"
