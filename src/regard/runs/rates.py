"""The learning rate that a recipe asks for, and what validation and the clock change about it.

A training by minutes does not know its last step: a machine that is slower makes fewer. So there a
cosine goes by the share of the time that is over, which is at 1 when the minutes are:

    share = (seconds so far + seconds of a step) / (60 · minutes)
    end   = step / share, or the recipe's steps if they are fewer
    rate  = cosine(step, peak, warm-up ≤ end / 10, end)

What it needs, steps and seconds, is in each checkpoint, so a resumed run goes on where it stood.
"""

from dataclasses import replace

from regard.runs.sections import VALIDATE_EVERY, WARMUP, TrainSection
from regard.training.schedule import constant, cosine, noam, plateau
from regard.training.state import Progress

WARMUP_SHARE = 0.1  # most of a training by minutes that its warm-up may take
INTERVALS, LONGEST = 6, 120.0  # of time between validations: their number at least, their seconds

DEAR = 0.25  # of the time between validations, that one may take


def rate_at(step: int, train: TrainSection, d_model: int, progress: Progress) -> float:
    """The rate of `step` (training/schedule.py has the formulas)."""
    if train.schedule == "noam":
        return noam(step, d_model, train.warmup, train.factor)
    if train.schedule == "cosine":
        end, warmup = expected_end(step, train, progress), float(train.warmup)
        if train.minutes is not None:
            warmup = min(warmup, WARMUP_SHARE * end)
        return cosine(step, train.rate, warmup, end, train.floor)
    if train.schedule == "plateau":
        cuts = progress.rate_cuts
        return plateau(step, train.rate, train.warmup, train.plateau_factor, cuts, train.floor)
    return constant(step, train.rate, train.warmup)


def expected_end(step: int, train: TrainSection, progress: Progress) -> float:
    """The last step of the run, as far as one can tell before `step` is made.

    Before the first one only the self-test knows how long a step takes.
    """
    last = train.last_step
    if train.minutes is None:
        assert last is not None, "a run ends by steps or by minutes"
        return last
    limit = max(60 * train.minutes, 1e-9)
    seconds = progress.seconds / (step - 1) if step > 1 else limit / max(1.0, progress.expected)
    share = (progress.seconds + seconds) / limit
    by_clock = step / max(share, 1e-9)
    return by_clock if last is None else min(last, by_clock)


def with_warmup_and_interval(train: TrainSection, expected: float | None = None) -> TrainSection:
    """With a warm-up and, by steps, an interval of validation, where the recipe has none.

    `expected` is the number of steps that the minutes allow; without it the run ends by steps.
    """
    warmup, every = WARMUP, 0 if train.minutes is not None else VALIDATE_EVERY
    end = expected if expected is not None else train.last_step
    if end is not None and (expected is not None or train.schedule == "cosine"):
        warmup = min(warmup, max(1, round(WARMUP_SHARE * end)))
    return replace(
        train, warmup=train.warmup or warmup, validate_every=train.validate_every or every
    )


def validation_due(train: TrainSection, progress: Progress) -> bool:
    """Whether a validation comes after this step.

    Where the recipe gives no number of steps, the clock decides: there are four before the end and
    one at it, unless one takes so long that hardly any training would be left between them.
    """
    if train.validate_every:
        return progress.step % train.validate_every == 0
    assert train.minutes is not None, "without minutes there is a number of steps"
    interval = _interval(train.minutes)
    left = 60 * train.minutes - progress.seconds
    return progress.seconds - progress.validated >= interval and left >= interval


def validation_is_dear(train: TrainSection, progress: Progress) -> bool:
    """Whether the clock lets the next validation measure no more than the loss.

    On a slow machine the translations of a model that has not learned to end take longer than the
    training between them.
    """
    if train.validate_every or train.minutes is None or train.choose_by == "score":
        return False
    return progress.validation_seconds > DEAR * _interval(train.minutes)


def _interval(minutes: float) -> float:
    return min(60 * minutes / INTERVALS, LONGEST)


def peak(train: TrainSection, d_model: int) -> float:
    """The highest rate of a training."""
    if train.schedule == "noam":
        return noam(train.warmup, d_model, train.warmup, train.factor)
    return train.rate


def in_words(train: TrainSection, expected: float) -> str:
    """How the rate of a training by minutes goes, and how often it is validated."""
    steps = min(expected, train.last_step or expected)
    if train.schedule == "cosine":
        warmup = min(train.warmup, WARMUP_SHARE * steps)
        rate = (
            f"the rate rises to {train.rate:.2g} (about {max(1, round(warmup)):,} steps), then "
            f"falls to {train.floor:g} as the time runs out"
        )
    else:
        rate = f"{train.schedule}, a warm-up of {train.warmup:,} steps"
        if train.warmup > steps / 2:
            rate += ", more than half of them: set train.warmup lower"
    every = (
        f"{train.validate_every:,} steps"
        if train.validate_every
        else f"{_interval(train.minutes or 0.0):.2g} seconds"
    )
    return f"about {round(steps):,} steps; {rate}; a validation every {every}"


def count_validation(train: TrainSection, progress: Progress, better: bool) -> str | None:
    """Note whether a validation was better; a sentence if the rate is cut because of it.

    Validations during the warm-up count too: the best loss is the best of the whole run.
    """
    if train.schedule != "plateau":
        return None
    progress.since_cut = 0 if better else progress.since_cut + 1
    if progress.since_cut < train.plateau_patience:
        return None
    progress.since_cut, progress.rate_cuts = 0, progress.rate_cuts + 1
    level = max(train.floor, train.rate * train.plateau_factor**progress.rate_cuts)
    return (
        f"{train.plateau_patience} validations brought no better loss: the learning rate is "
        f"{level:.3g} from here on"
    )
