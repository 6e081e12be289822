"""Memory that several processes see: the weights, and the gradients of each colleague.

An anonymous file (Linux's memfd): it has no name that anybody could open, no size limit of its own,
and is gone with the last process that holds it.
"""

import mmap
import os
import sys
from collections.abc import Sequence

import torch
from torch import Tensor


def can_share() -> bool:
    """Whether this system has such files."""
    return sys.platform == "linux"


class SharedTensors:
    """Tensors of given shapes in one shared block; `descriptor` is how another process finds it."""

    def __init__(self, like: Sequence[Tensor], descriptor: int | None = None) -> None:
        sizes = [tensor.numel() * tensor.element_size() for tensor in like]
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + -(-size // 64) * 64)  # each at the start of a cache line
        if descriptor is None:
            assert sys.platform == "linux"
            descriptor = os.memfd_create("regard")
            os.ftruncate(descriptor, starts[-1])
        self.descriptor = descriptor
        # The tensors keep the block alive; the descriptor is only for finding it.
        memory = mmap.mmap(descriptor, starts[-1])
        self.tensors = [
            torch.frombuffer(memory, dtype=t.dtype, count=t.numel(), offset=start).view(t.shape)
            for t, start in zip(like, starts, strict=False)
        ]

    def close(self) -> None:
        """No other process can find it from here on; the tensors stay what they are."""
        os.close(self.descriptor)
