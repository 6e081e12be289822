"""Dropout: each number is zeroed with probability `rate`, the rest is scaled by 1/(1 - rate).

One place for the whole model. torch's own dropout draws one random number per element; drawing 64
random bits for four elements is many times cheaper on a CPU and gives rates exact to 1/65536
(docs/decisions/0006-training-speed.md). The bits come from torch's default generator, or from the
one that `drawing_from` names: training seeds one for each part of each step, so that masks depend
on the step alone, not on who computes it or what was drawn before.

A context variable, not an argument: a pass draws in some forty places, so every forward and every
objective would hand it on, and one that forgot it would still train, only not repeatably.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_STEPS = 1 << 16
# The generator; of how many rows the batch is a part, and from which on.
_bits: ContextVar[tuple[torch.Generator | None, int | None, int]] = ContextVar(
    "bits", default=(None, None, 0)
)


@contextmanager
def drawing_from(
    generator: torch.Generator, rows: int | None = None, start: int = 0
) -> Iterator[None]:
    """Within this block, and in this thread, masks are drawn from `generator`.

    A batch that is the rows from `start` on of a larger one of `rows` rows gets that one's masks:
    it is dropped as if the larger one were computed at once.
    """
    token = _bits.set((generator, rows, start))
    try:
        yield
    finally:
        _bits.reset(token)


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """x with dropout when training, else x itself."""
    if not training or rate == 0.0:
        return x
    kept, scale = keep_mask(x, rate)
    return x * kept.mul_(scale)


def add_dropout(x: Tensor, y: Tensor, rate: float, training: bool) -> Tensor:
    """x + dropout(y), the residual connection, in one pass over the numbers."""
    if not training or rate == 0.0:
        return x + y
    kept, scale = keep_mask(y, rate)
    return torch.addcmul(x, y, kept, value=scale)


def keep_mask(x: Tensor, rate: float) -> tuple[Tensor, float]:
    """Like x, 0 with probability `rate` and 1 elsewhere; beside it the scale 1/(1 - rate)."""
    generator, rows, start = _bits.get()
    per_row = x.numel() // len(x)
    count = (rows or len(x)) * per_row
    bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=x.device)
    bits.random_(-(1 << 63), None, generator=generator)  # all 64 bits are random
    draws = bits.view(torch.int16)[start * per_row :][: x.numel()].view(x.shape)
    dropped = round(rate * _STEPS)
    threshold = dropped - _STEPS // 2  # int16 runs from -32768
    kept = torch.ge(draws, threshold, out=torch.empty_like(x))  # written as numbers: no cast after
    return kept, _STEPS / (_STEPS - dropped)
