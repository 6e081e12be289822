"""Two ways to compute the same training step: the fast one, and the plain one it is tested against.

    with plain_kernels(model):
        loss = translation_loss(model, batch, 0.1)      # every formula as it is written

plain    separate products for Q, K and V; attention step by step; all logits at once
fast     one product for Q, K and V; gradients written out; logits in pieces that fit the cache

Both draw the same dropout masks from the same generator. Fast is the default: the parts that have
two ways carry `fast`, as all modules carry `training`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from regard.model.attention import MultiHeadAttention
from regard.model.output import Output


@contextmanager
def plain_kernels(model: nn.Module) -> Iterator[None]:
    """Within this block everything that this model does is computed as it is written."""
    parts = [part for part in model.modules() if isinstance(part, MultiHeadAttention | Output)]
    for part in parts:
        part.fast = False
    try:
        yield
    finally:
        for part in parts:
            part.fast = True
