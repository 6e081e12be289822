"""Steps that are better not taken: a loss or gradient that is no number, a loss out of all bounds.

    NaN or infinity    skip; IN_A_ROW of them: give up
    a spike            skip; SPIKES of them: back to the last checkpoint, past the batches between

A spike is a loss above μ + max(SIGMAS · σ, FLOOR), with mean μ and standard deviation σ of the last
WINDOW steps that were taken. The floor is for batches that are merely hard: a batch holds sentences
of one length, so losses have a long tail (in the demo up to 7 σ), and a hard batch that is skipped
whenever it comes is never learned. What must be remembered stands in Progress, so a resumed run
judges as the uninterrupted one does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from regard.training.state import Progress

WINDOW = 100  # steps
SIGMAS = 6.0
FLOOR = 3.0  # nats per target token
IN_A_ROW = 10  # skipped steps after which training is given up
SPIKES = 3  # in a row, after which the run goes back
ROLLBACKS = 3  # to one checkpoint, after which training is given up


@dataclass(frozen=True)
class SkipReason:
    """Why a step is not taken, as a clause."""

    reason: str
    is_spike: bool


def reason_to_skip(loss: float, gradient_norm: float, recent: Sequence[float]) -> SkipReason | None:
    """What speaks against a step with this loss and gradient, after steps with these losses."""
    if not math.isfinite(loss):
        return SkipReason(f"the loss is {loss}", is_spike=False)
    if not math.isfinite(gradient_norm):
        return SkipReason(f"the gradient's norm is {gradient_norm}", is_spike=False)
    if len(recent) < WINDOW:
        return None
    mean, deviation = fmean(recent), pstdev(recent)
    if loss <= mean + max(SIGMAS * deviation, FLOOR):
        return None
    usual = f"{mean:.3f} ± {deviation:.3f} in the last {len(recent)} steps"
    return SkipReason(f"the loss jumped to {loss:.3f} (it was {usual})", is_spike=True)


def remember(progress: Progress, loss: float, skip: SkipReason | None) -> None:
    """Note how a step went."""
    if skip is None:
        progress.recent = (*progress.recent, loss)[-WINDOW:]
        progress.in_a_row = progress.spikes = 0
        return
    progress.skipped += 1
    progress.in_a_row += 1
    progress.spikes = progress.spikes + 1 if skip.is_spike else 0


def go_on_from(progress: Progress, left: Progress) -> None:
    """After going back: the checkpoint's state, but the place in the data that was reached."""
    progress.epoch, progress.batch = left.epoch, left.batch
    progress.seconds, progress.skipped = left.seconds, left.skipped
    progress.rollbacks = left.rollbacks + 1
