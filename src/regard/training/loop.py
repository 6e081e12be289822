"""The training loop: a generator that makes one optimizer step at a time and yields what happened.

It neither logs, evaluates nor saves; whoever iterates does (fit/trainer.py).
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from regard.data.batch import Batch
from regard.training.optimizer import Adam
from regard.training.watch import SkipReason, reason_to_skip
from regard.training.worker import MeanLoss

StepJudge = Callable[[float, float], SkipReason | None]  # of a loss and a gradient's norm


@dataclass(frozen=True)
class Step:
    """One optimizer step."""

    number: int
    loss: float  # smoothed, mean per target token
    plain_loss: float  # without smoothing, mean per target token
    learning_rate: float
    gradient_norm: float
    tokens: int  # real source and target tokens
    padding: float  # share of the batch that was padding
    seconds: float
    group: Sequence[Batch]  # what it was computed from
    skip_reason: SkipReason | None = None  # set: the weights were left as they are


def _finite(loss: float, gradient_norm: float) -> SkipReason | None:
    return reason_to_skip(loss, gradient_norm, recent=())


def training_steps(
    model: nn.Module,
    optimizer: Adam | torch.optim.Optimizer,
    batches: Iterator[Sequence[Batch]],
    backward: Callable[[int, Sequence[Batch]], MeanLoss],
    rate_at: Callable[[int], float],
    clip: float,
    first_step: int = 1,
    judge: StepJudge = _finite,
) -> Iterator[Step]:
    """Yield steps `first_step`, `first_step + 1`, … for as long as there are batches.

    Each item of `batches` is a group that makes one step: `backward` fills the weights' `.grad`
    with the gradient of the mean loss over all target tokens of the group, and returns that loss
    (`DataParallel.gradients`), so a group equals one batch of its union. A step that `judge`
    objects to is counted but not taken.
    """
    number = first_step
    for group in batches:
        started = time.perf_counter()
        rate = rate_at(number)
        for parameters in optimizer.param_groups:
            parameters["lr"] = rate
        loss = backward(number, group)
        norm = float(nn.utils.clip_grad_norm_(model.parameters(), clip if clip else torch.inf))
        skip = judge(loss.plain if math.isfinite(loss.smoothed) else loss.smoothed, norm)
        if skip is None:
            optimizer.step()
        tokens = sum(batch.tokens for batch in group)
        cells = sum(batch.cells for batch in group)
        yield Step(
            number,
            loss.smoothed,
            loss.plain,
            rate,
            norm,
            tokens,
            1 - tokens / cells,
            time.perf_counter() - started,
            group,
            skip,
        )
        number += 1
