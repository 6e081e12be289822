"""When a training is over: steps, minutes, patience; and what a resumed one may ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import MisuseError
from regard.runs.sections import TrainSection
from regard.training.state import Progress

ASKED = "asked to stop"


@dataclass(frozen=True)
class Outcome:
    """How training ended: `reason` is a clause for a person; `signal` is set if it was asked to.

    The others say, each for its file, why something could not be written; most are empty.
    """

    step: int
    reason: str
    folder: Path
    signal: int | None = None
    unsaved: str = ""  # the last checkpoint
    unlogged: str = ""  # records of log.jsonl
    board_failed: str = ""  # what TensorBoard reads


def ended(train: TrainSection, progress: Progress) -> str | None:
    """Why there is no further step, if steps or minutes say so."""
    if train.last_step is not None and progress.step >= train.last_step:
        one = train.last_step == 1
        return "the one step is done" if one else f"all {train.last_step:,} steps are done"
    if train.minutes is None:
        return None
    a_step = progress.seconds / progress.step if progress.step else 0.0
    if progress.seconds + a_step >= 60 * train.minutes:  # the next one would be too late
        minutes = round(train.minutes, 2)
        return "1 minute is over" if minutes == 1 else f"{minutes:g} minutes are over"
    return None


def over(train: TrainSection, progress: Progress) -> str | None:
    """Why there is none, for these reasons or because validation has stood still for too long."""
    reason = ended(train, progress)
    if reason is None and train.patience and progress.since_best >= train.patience:
        reason = f"the last {train.patience} validations brought no better {train.choose_by}"
    return reason


def ended_by(train: TrainSection, progress: Progress) -> str:
    """The same in a word, for run.json."""
    if ended(train, progress) is None:
        return "patience"
    by_steps = train.last_step is not None and progress.step >= train.last_step
    return "steps" if by_steps else "minutes"


def check_goes_on(
    train: TrainSection, done: Progress, assignments: Sequence[str], folder: Path
) -> None:
    """Refuse an end that the run has passed: it would be called finished, now and ever after."""
    changed = {assignment.partition("=")[0].strip() for assignment in assignments}
    if "train.steps" in changed and train.steps is not None and train.steps < done.step:
        problem = f"but {folder} has made {done.step:,} steps"
        expected = f"more than these, for example train.steps={2 * done.step}"
        advice = "or leave it out, and the run goes on to the end that it had"
        raise MisuseError("train.steps", problem, got=train.steps, expected=expected, advice=advice)
    if "train.minutes" in changed and train.minutes and 60 * train.minutes < done.seconds:
        problem = f"but {folder} has trained for {done.seconds / 60:.3g} minutes"
        expected = "more, all together"
        advice = f"`--minutes {train.minutes:g}` adds so many"
        raise MisuseError(
            "train.minutes", problem, got=train.minutes, expected=expected, advice=advice
        )
