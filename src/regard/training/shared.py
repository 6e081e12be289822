"""Memory that several processes see: the weights, and the gradients of each worker process.

An anonymous file: it has no name that anybody could open and is gone with the last process that
holds it. Linux keeps one in memory (memfd); elsewhere it is a temporary file whose name is removed
at once. Where a process cannot hand files on to another, nothing is shared
(training/data_parallel.py).
"""

import mmap
import os
import sys
import tempfile
from collections.abc import Sequence

import torch
from torch import Tensor


def can_share() -> bool:
    """Whether a process can hand a file on to one that it starts; on Windows it cannot."""
    return os.name == "posix"


def can_memfd() -> bool:
    """Whether the system keeps files without a name in memory."""
    return sys.platform == "linux"


def _anonymous_file() -> int:
    if can_memfd():
        return os.memfd_create("regard")
    descriptor, name = tempfile.mkstemp(prefix="regard-")
    os.unlink(name)
    return descriptor


class SharedTensors:
    """Tensors of given shapes in one shared block; `descriptor` is how another process finds it."""

    def __init__(self, like: Sequence[Tensor], descriptor: int | None = None) -> None:
        sizes = [tensor.numel() * tensor.element_size() for tensor in like]
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + -(-size // 64) * 64)  # each at the start of a cache line
        if descriptor is None:
            descriptor = _anonymous_file()
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
