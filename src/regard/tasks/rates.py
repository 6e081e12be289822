"""The learning rate that a recipe asks for, and what validation changes about it."""

from regard.errors import ConfigError
from regard.tasks.recipe import Recipe
from regard.tasks.recipe_sections import TrainSection
from regard.train.schedule import constant, cosine, noam, plateau
from regard.train.state import Progress


def rate_at(step: int, train: TrainSection, d_model: int, progress: Progress) -> float:
    """The rate of `step` (train/schedule.py has the formulas)."""
    if train.schedule == "noam":
        return noam(step, d_model, train.warmup, train.factor)
    if train.schedule == "cosine":
        return cosine(step, train.rate, train.warmup, train.steps, train.floor)
    if train.schedule == "plateau":
        cuts = progress.rate_cuts
        return plateau(step, train.rate, train.warmup, train.plateau_factor, cuts, train.floor)
    return constant(step, train.rate, train.warmup)


def peak(train: TrainSection, d_model: int) -> float:
    """The highest rate of a training."""
    return rate_at(train.warmup, train, d_model, Progress())


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


def check_schedule(recipe: Recipe) -> None:
    """Refuse a cosine whose end nobody has said: minutes alone would stop it near its peak."""
    train = recipe.train
    endless = train.minutes is not None and train.steps == TrainSection.steps
    if train.schedule == "cosine" and endless:
        raise ConfigError(
            f"train.schedule: cosine falls until train.steps, which is {train.steps:,} unless set; "
            f"set it to what {train.minutes:g} minutes allow, or take another schedule"
        )
