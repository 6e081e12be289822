"""Several corpora in one training: which of their pairs an epoch shows, and how often.

A corpus of n pairs with weight w gives round(w · n) examples to every epoch: 1 is each pair once, 2
each twice, 0.25 a quarter of them. They are taken in turn from one endless row of shuffled corpora,

    epoch 0        epoch 1        epoch 2
    ├── 3 1 4 0 ──┼── 2 5 | 5 0 ─┼─ 2 1 4 3 ──┼ …        n = 6, w = 2/3

so over the epochs every pair comes equally often, whatever the weight. The row follows from the
seed and the corpus's number alone: any epoch can be had without those before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Portion:
    """One corpus: `pairs` examples that stand in a row in the store of all."""

    name: str
    pairs: int
    weight: float = 1.0

    @property
    def shown(self) -> int:
        """Examples in an epoch."""
        return max(1, round(self.weight * self.pairs)) if self.pairs else 0


def choose_examples(parts: Sequence[Portion], seed: int, epoch: int) -> Numbers:
    """The numbers of an epoch's examples, in the order of the store."""
    chosen, first = [], 0
    for number, part in enumerate(parts):
        if part.pairs:
            chosen.append(first + _turn(part, seed, number, epoch))
        first += part.pairs
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)


def _turn(part: Portion, seed: int, number: int, epoch: int) -> Numbers:
    """What `epoch` takes from the endless row of one corpus."""
    if part.shown == part.pairs:
        return np.arange(part.pairs)
    start = epoch * part.shown
    first, last = start // part.pairs, (start + part.shown - 1) // part.pairs
    row = np.concatenate(
        [_shuffled(part.pairs, [seed, number + 1, r + 1]) for r in range(first, last + 1)]
    )
    begin = start - first * part.pairs
    return np.sort(row[begin : begin + part.shown])


def _shuffled(size: int, seeds: list[int]) -> Numbers:
    """By raw bits, which NumPy promises for ever, as in data/buckets.py."""
    raw = np.random.PCG64(np.random.SeedSequence(seeds)).random_raw(size)
    return np.argsort(raw, kind="stable").astype(np.int64)
