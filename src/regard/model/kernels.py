"""Two ways to compute the same training step: the fast one, and the plain one it is tested against.

    with plain_kernels():
        loss = translation_loss(model, batch, 0.1)      # every formula as it is written

plain    separate products for Q, K and V; attention step by step; all logits at once
fast     one product for Q, K and V; gradients written out; logits in pieces that fit the cache

Both draw the same dropout masks from the same generator. Fast is the default.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_fast: ContextVar[bool] = ContextVar("fast", default=True)


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Within this block, and in this thread, everything is computed as it is written."""
    token = _fast.set(False)
    try:
        yield
    finally:
        _fast.reset(token)


def fast_kernels() -> bool:
    """Whether the fast way is to be taken."""
    return _fast.get()
