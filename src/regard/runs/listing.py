"""Which runs there are, how far each came and how good it is. It reads small files, and no torch.

A run that says "training" while nobody holds its lock was cut off: killed, or out of power.
"""

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.checkpoint.files import read_own_json
from regard.config import build
from regard.errors import CheckpointError, MisuseError, RegardError
from regard.model.spec import Spec, parameter_count
from regard.runs.curves import data_in_words, points_of_log
from regard.runs.folder import PREPARING, RunFolder
from regard.runs.log import broken_lines, damage_to_log, read_log
from regard.runs.objectives import score_of
from regard.runs.sections import STEPS

FOUND_BY = ("run.json", "recipe.json")  # either may be gone
STATES = (PREPARING, "training", "stopped", "failed", "finished")  # that a run gives itself
DEPTH = 3  # folders within folders that are looked into


@dataclass(frozen=True)
class RunRow:
    """One run; None where it does not say."""

    folder: str
    state: str  # preparing, training, cut off, stopped, finished, failed, damaged
    step: int = 0
    steps: int | None = None  # to reach; None where minutes alone end the run
    minutes: float | None = None  # of training, all together
    ended: str = ""  # by what, if it is finished: steps, minutes, patience (early stopping)
    loss: float | None = None  # the best on the validation pairs
    score: float | None = None  # … of what its objective is judged by
    score_name: str = ""  # BLEU, accuracy, F1, Spearman
    parameters: int | None = None
    data: str = ""
    seconds: float = 0.0  # since it last wrote something
    problem: str = ""  # what is wrong with it, if it is damaged


def list_runs(folder: Path) -> list[RunRow]:
    """The runs below a folder, or the folder's own; those that wrote last come first.

    A run with a file that cannot be used is a row too, which says what is wrong with it.
    """
    if not folder.is_dir():
        hint = "; `regard train` makes runs in runs/" if folder == Path("runs") else ""
        raise MisuseError(folder, "no such folder", advice=hint)
    now = time.time()
    runs = sorted(((_written(run), run) for run in _runs_below(folder)), key=lambda one: -one[0])
    return [_row(run, max(0.0, now - written)) for written, run in runs]


def _runs_below(folder: Path) -> Iterator[RunFolder]:
    seen = set()
    for depth in range(DEPTH + 1):
        for name in FOUND_BY:
            for file in folder.glob("/".join(["*"] * depth + [name])):
                if file.parent not in seen:
                    seen.add(file.parent)
                    yield RunFolder(file.parent)


def _written(run: RunFolder) -> float:
    """When its files were last written to, as the clock was then."""
    times = [run.folder.stat().st_mtime]
    for path in (run.info, run.log):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times[1:], default=times[0])


def _row(run: RunFolder, age: float) -> RunRow:
    row = RunRow(str(run.folder), "damaged", seconds=age)
    try:
        row = _of_info(run, row, run.read_info())
        if not run.is_preparing():
            row = _of_log(run, _of_recipe(run, row))
            if row.state == "finished":
                row = replace(row, ended=_ended(run.read_info(), row))
    except (RegardError, OSError) as error:
        return replace(row, state="damaged", problem=_sentence(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"{run.folder}: its files do not fit together: {type(error).__name__}: {error}"
        return replace(row, state="damaged", problem=problem)
    return row


def _sentence(error: RegardError | OSError) -> str:
    """An error of the system says its file last, and its number first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: cannot be read: {error.strerror}"
    return str(error)


def _of_info(run: RunFolder, row: RunRow, info: dict[str, Any]) -> RunRow:
    """State and step, from run.json."""
    said, step = info.get("state"), info.get("step", 0)
    if said not in STATES:
        raise CheckpointError(run.info, f"its state is {said!r}", expected=" or ".join(STATES))
    if type(step) is not int:
        raise CheckpointError(run.info, f"its step is {step!r}", expected="a whole number")
    return replace(row, state=_state(run, said), step=step)


def _of_recipe(run: RunFolder, row: RunRow) -> RunRow:
    """What it was asked for, and on what data; how large the model is."""
    recipe = read_own_json(run.recipe)
    train, data = (recipe.get(section) for section in ("train", "data"))
    if not isinstance(train, dict) or not isinstance(data, dict):
        raise CheckpointError(run.recipe, "holds no tables [train] and [data]")
    steps, minutes = _aim(train, run.read_info())
    for name, value in {"steps": steps, "minutes": minutes}.items():
        if value is not None and not _is_number(value):
            raise CheckpointError(run.recipe, f"train.{name} is {value!r}", expected="a number")
    spec = build(Spec, read_own_json(run.spec), str(run.spec))
    return replace(
        row,
        steps=steps,
        minutes=minutes,
        data=data_in_words(data),
        parameters=parameter_count(spec),
    )


def _of_log(run: RunFolder, row: RunRow) -> RunRow:
    """The last step while it trains; the best loss and score, unless the log was changed."""
    records = read_log(run.log)
    damage = damage_to_log(run.log, records, str(run.read_info().get("log_sha256", "")))
    checks = [r for r in ([] if damage else records) if r["kind"] == "validation"]
    score = score_of(run, checks)
    is_going = row.state in ("training", "cut off")
    last = records[-1]["step"] if records and is_going else 0
    row = replace(
        row,
        step=max(row.step, last),
        loss=min(_values(checks, "loss"), default=None),
        score=score.best(_values(checks, score.key)) if score else None,
        score_name=score.name if score else "",
    )
    if broken := broken_lines(run.log):
        are = "line is no record" if broken == 1 else "lines are no records"
        problem = f"{run.log}: {broken:,} {are}; the others are read"
        return replace(row, state="damaged", problem=problem)
    return replace(row, problem=damage)


def _values(checks: list[dict[str, Any]], key: str) -> list[float]:
    return [value for _, value in points_of_log(checks, key) if _is_number(value)]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


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


def _ended(info: dict[str, Any], row: RunRow) -> str:
    """What the run says that ended it; an earlier version's did not say."""
    if said := info.get("ended"):
        return str(said)
    if row.steps is not None and row.step >= row.steps:
        return "steps"
    return "patience" if row.minutes is None else ""


def _state(run: RunFolder, said: str) -> str:
    """What the run says of itself, unless nobody trains it any more."""
    return said if said not in ("training", PREPARING) or run.is_held() else "cut off"


def age_in_words(seconds: float) -> str:
    """How long ago: 5 minutes, 3 hours, 12 days."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (count > 1)}"
    return "now"
