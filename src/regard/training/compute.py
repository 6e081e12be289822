"""How a training step is computed: precision, workers, threads, kernels.

A self-test chooses (fit/autotune.py); the choice is stored in the run, because the last bits of
every sum depend on it: a run that is resumed in another way is another run.
"""

from dataclasses import dataclass
from typing import Literal

from regard.printable import counted


@dataclass(frozen=True)
class Compute:
    """`workers` × `threads` are the cores in use; a batch is divided among the workers."""

    precision: Literal["fp32", "bf16"] = "fp32"
    workers: int = 1
    threads: int = 1  # of each worker
    kernels: Literal["fast", "plain"] = "fast"

    def __str__(self) -> str:
        cores = f"{counted(self.workers, 'worker')} of {counted(self.threads, 'thread')}"
        return f"{self.precision}, {cores}, {self.kernels} kernels"
