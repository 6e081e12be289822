"""The range test: how high may the learning rate be? (Smith 2017, arXiv:1506.01186)

From the start weights the rate rises with every step by the same factor, from far too low to far
too high. The loss first stays, then falls, then explodes; between the last two lies the rate to
train with.

    rate_i = lowest · (highest / lowest)^(i / (steps - 1))

Batches differ, so the loss goes up and down at any rate. How much, the first steps show, at rates
too low to change anything; what does not stand out from it is neither a fall nor an explosion, and
a test without a fall has no answer.

The weights are thrown away. What comes out is `train.rate`, or `train.factor` where the schedule is
the paper's, whose rate at its peak is factor · (d_model · warmup)^-0.5.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean, pstdev

from regard.draw.terminal.progress import progress_bar
from regard.errors import TrainingError
from regard.fit.request import Request
from regard.fit.train import model_line, trial
from regard.fit.trainer import Trainer
from regard.runs.objectives import OBJECTIVES
from regard.runs.rates import peak
from regard.training.schedule import noam

STEPS = 100
LOWEST, HIGHEST = 1e-6, 1.0
QUIET = 25  # first steps, with rates up to 3e-5: what the loss does there is noise
MEMORY = 0.9  # of the running mean: about ten steps
CALMER = math.sqrt((1 - MEMORY) / (1 + MEMORY))  # deviation of the mean, of that of single steps
SIGMAS = 4.0  # deviations of the running mean that noise does not reach
LEAST = 0.01  # of the first loss: less is no fall, whatever the noise
EXPLODED = 0.25  # of the way back up to the first loss


@dataclass(frozen=True)
class RangeTest:
    """The steps of a range test, and what follows from them."""

    rates: Sequence[float]
    losses: Sequence[float]
    smooth: Sequence[float]
    chosen: float  # the rate to have at the peak
    setting: str  # the key of the recipe that gives it, with its value
    before: float  # the rate at the peak of the recipe as it is
    model: str  # in a line
    unit: str  # of the loss; empty if it adds up several things

    def rows(self, count: int = 14) -> list[tuple[float, float]]:
        """Some of the steps, evenly spread: rate and smoothed loss."""
        every = max(1, math.ceil(len(self.rates) / count))
        return [(self.rates[i], self.smooth[i]) for i in range(0, len(self.rates), every)]


def find_rate(request: Request) -> RangeTest:
    """Make the test for a recipe or own files; no run is left behind."""
    with trial(request) as trainer, trainer.memory_limit():
        rates, losses = _climb(trainer, STEPS)
        recipe, spec = trainer.recipe, trainer.model.spec
        train, d_model = recipe.train, spec.d_model
        model, unit = model_line(spec, recipe), OBJECTIVES[recipe.objective].unit
    smooth = running_mean(losses)
    chosen = best_rate(rates, smooth, *quiet_part(losses))
    setting = f"train.rate={chosen:.2g}"
    if train.schedule == "noam":
        factor = chosen / noam(train.warmup, d_model, train.warmup)
        setting = f"train.factor={float(f'{factor:.2g}'):g}"
    return RangeTest(rates, losses, smooth, chosen, setting, peak(train, d_model), model, unit)


def rate_at(steps: int) -> Callable[[int], float]:
    """The rate of each step, counted from 1."""
    return lambda step: LOWEST * (HIGHEST / LOWEST) ** ((step - 1) / (steps - 1))


def _climb(trainer: Trainer, steps: int) -> tuple[list[float], list[float]]:
    """Train at rising rates until the loss explodes or the steps are done."""
    rates: list[float] = []
    losses: list[float] = []
    with closing(trainer.data_parallel()) as workers, progress_bar("range test", steps) as bar:
        for step in trainer.steps(workers, rate_at(steps)):
            if step.skip_reason is not None:  # a loss or gradient that is no number: the end too
                break
            rates.append(step.learning_rate)
            losses.append(step.plain_loss)
            bar.advance()
            if step.number == steps or exploded(losses):
                break
    return rates, losses


def quiet_part(losses: Sequence[float]) -> tuple[float, float]:
    """Where the loss begins, and how far its running mean strays from there by chance alone."""
    first = losses[:QUIET]
    start = fmean(first)
    deviation = pstdev(first, start)
    return start, max(SIGMAS * CALMER * deviation, LEAST * start)


def exploded(losses: Sequence[float]) -> bool:
    """Whether the loss has come back up a good part of the way that it had fallen, or further.

    Never within the quiet part, and never by less than chance can do.
    """
    if len(losses) <= QUIET:
        return False
    start, chance = quiet_part(losses)
    smooth = running_mean(losses)[QUIET - 1 :]
    low = min(smooth)
    return smooth[-1] > low + max(2 * chance, EXPLODED * (start - low))


def running_mean(losses: Sequence[float]) -> list[float]:
    """m_i = β m_{i-1} + (1 - β) loss_i, divided by 1 - β^i so that the first is not too small."""
    mean, smooth = 0.0, []
    for number, loss in enumerate(losses, start=1):
        mean = MEMORY * mean + (1 - MEMORY) * loss
        smooth.append(mean / (1 - MEMORY**number))
    return smooth


def best_rate(
    rates: Sequence[float], smooth: Sequence[float], start: float, chance: float
) -> float:
    """The rate at which the loss falls fastest for the same relative rise of the rate.

    Beyond it the fall slows: the next rates are already too high for some of the weights. Only
    places count where the loss is, or is about to be, further below its start than by chance.
    """
    lowest = min(range(len(smooth)), key=lambda i: smooth[i])
    reach = max(1, len(smooth) // 20)
    slopes = {
        i: smooth[i + reach] - smooth[i - reach]
        for i in range(max(reach, QUIET), min(lowest + 1, len(smooth) - reach))
        if smooth[i + reach] < start - chance
    }
    if not slopes:
        fall = max(0.0, start - min(smooth[QUIET:], default=start))
        raise TrainingError(
            f"range test: no answer. In {len(smooth)} steps the loss fell by {fall:.2g} from "
            f"{start:.3g}; expected more than {chance:.2g}, which chance alone can do with these "
            "batches. Raise train.token_budget (or train.accumulate) for calmer batches, or "
            "compare short trainings with train.rate=3e-4, 1e-3 and 3e-3 by `regard plot`"
        )
    return rates[min(slopes, key=lambda i: slopes[i])]
