"""The training loop: a generator that makes one optimizer step at a time and yields what happened.

It neither logs, evaluates nor saves; whoever iterates does (tasks/fit.py).
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from regard.data.batch import Batch
from regard.errors import TrainingError
from regard.train.worker import Sums


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


def training_steps(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Sequence[Batch]],
    gradients: Callable[[int, Sequence[Batch]], Sums],
    rate_at: Callable[[int], float],
    clip: float,
    first_step: int = 1,
) -> Iterator[Step]:
    """Yield steps `first_step`, `first_step + 1`, … for as long as there are batches.

    Each item of `batches` is a group that makes one step: `gradients` fills the weights' `.grad`
    with the gradient of the mean loss over all target tokens of the group (train/crew.py), so a
    group equals one batch of its union.
    """
    number = first_step
    for group in batches:
        started = time.perf_counter()
        rate = rate_at(number)
        for parameters in optimizer.param_groups:
            parameters["lr"] = rate
        loss = gradients(number, group)
        norm = float(nn.utils.clip_grad_norm_(model.parameters(), clip if clip else torch.inf))
        if not math.isfinite(loss.smoothed + norm):  # before the step: the weights stay
            raise TrainingError(
                f"step {number}: the loss is {loss.smoothed}, the gradient's norm {norm}; train "
                "again with a lower train.factor or a longer train.warmup"
            )
        optimizer.step()
        tokens = sum(batch.tokens for batch in group)
        cells = sum(batch.source.numel() + batch.target_in.numel() for batch in group)
        yield Step(
            number,
            loss.smoothed,
            loss.plain,
            rate,
            norm,
            tokens,
            1 - tokens / cells,
            time.perf_counter() - started,
        )
        number += 1
