"""Dropout: each number is zeroed with probability `rate`, the rest is scaled by 1/(1 - rate).

One place for the whole model. torch's own dropout draws one random number per element; drawing 64
random bits for four elements is many times cheaper on a CPU and gives rates exact to 1/65536
(docs/decisions/0006-training-speed.md). The bits come from torch's default generator, or from the
one that `drawing_from` names: training seeds one for each part of each step, so that masks depend
on the step alone, not on who computes it or what was drawn before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_STEPS = 1 << 16
_drawing: ContextVar[torch.Generator | None] = ContextVar("drawing", default=None)
_rows: ContextVar[tuple[int, int] | None] = ContextVar("rows", default=None)


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within this block, and in this thread, masks are drawn from `generator`."""
    token = _drawing.set(generator)
    try:
        yield
    finally:
        _drawing.reset(token)


@contextmanager
def rows_of(count: int, start: int) -> Iterator[None]:
    """Within this block a batch is the rows from `start` on of a larger one of `count` rows.

    Masks are drawn for the larger one, so its rows are dropped as if it were computed at once.
    """
    token = _rows.set((count, start))
    try:
        yield
    finally:
        _rows.reset(token)


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
    rows, start = _rows.get() or (len(x), 0)
    per_row = x.numel() // len(x)
    count = rows * per_row
    bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=x.device)
    bits.random_(-(1 << 63), None, generator=_drawing.get())  # all 64 bits are random
    draws = bits.view(torch.int16)[start * per_row :][: x.numel()].view(x.shape)
    dropped = round(rate * _STEPS)
    threshold = dropped - _STEPS // 2  # int16 runs from -32768
    kept = torch.ge(draws, threshold, out=torch.empty_like(x))  # written as numbers: no cast after
    return kept, _STEPS / (_STEPS - dropped)
