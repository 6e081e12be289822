"""The file of batches that all learners read: the same padded arrays, the same masks.

train-0007-source   B × S ids          valid-0007-source   the same for the validation pairs
train-0007-source_real, -target_in, -target_out, -target_real
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from regard.data.batch import Batch

ARRAYS = ("source", "source_real", "target_in", "target_out", "target_real")


def write_plan(path: Path, **sets: Sequence[Batch]) -> None:
    """Write the batches of some sets, `train` and `valid`."""
    arrays = {
        f"{name}-{number:04d}-{field}": batch[field].numpy()
        for name, batches in sets.items()
        for number, batch in enumerate(batches)
        for field in ARRAYS
    }
    np.savez(path, allow_pickle=False, **arrays)


def read_plan(path: Path, name: str) -> list[Batch]:
    """The batches of one set, in order."""
    with np.load(path, allow_pickle=False) as file:
        numbers = sorted({key.split("-")[1] for key in file.files if key.startswith(f"{name}-")})
        return [
            Batch({field: torch.from_numpy(file[f"{name}-{n}-{field}"]) for field in ARRAYS})
            for n in numbers
        ]
