"""Span corruption (Raffel et al. 2020, section 3.1.4). In: the ids of a text. Out: two texts.

    text      Thank you for inviting me to your party last week
    source    Thank you <extra_id_0> me to your party <extra_id_1>
    target    <extra_id_0> for inviting <extra_id_1> last week

15 % of the tokens are hidden, in spans of 3 on average; each span becomes one sentinel, and the
target says what stood behind it. A text begins with what is kept and ends with what is hidden, as
in the authors' code. How many tokens and spans are hidden follows from the length of a text alone,
so batches can be planned before anything is drawn; where they lie is drawn evenly among all ways to
cut. Chance comes from the numbers that are handed in: a run that is resumed hides the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.buckets import uniform

Counts = NDArray[np.int64]
FEWEST = 2  # tokens of a text: one to keep, one to hide


@dataclass(frozen=True)
class SpanCorruption:
    """What is hidden, and behind which ids."""

    sentinels: tuple[int, ...]  # ids, in the order in which they are used
    share: float = 0.15
    span: float = 3.0  # tokens, on average

    def counts(self, lengths: NDArray[np.integer[Any]]) -> tuple[Counts, Counts]:
        """Of texts with so many tokens: how many are hidden, and in how many spans."""
        lengths = lengths.astype(np.int64)
        hidden = np.clip(np.rint(lengths * self.share).astype(np.int64), 1, lengths - 1)
        spans = np.rint(hidden / self.span).astype(np.int64)
        most = np.minimum(np.minimum(hidden, lengths - hidden), len(self.sentinels))
        return hidden, np.clip(spans, 1, most)

    def lengths(self, lengths: NDArray[np.integer[Any]]) -> tuple[Counts, Counts]:
        """Tokens of source and target, sentinels counted."""
        hidden, spans = self.counts(lengths)
        return lengths - hidden + spans, hidden + spans

    def __call__(self, ids: Sequence[int], chance: Sequence[int]) -> tuple[list[int], list[int]]:
        """Source and target of one text of FEWEST tokens or more."""
        hidden, spans = (int(n[0]) for n in self.counts(np.array([len(ids)])))
        draws = np.random.PCG64(np.random.SeedSequence(list(chance)))
        kept_parts = _parted(len(ids) - hidden, spans, draws)
        hidden_parts = _parted(hidden, spans, draws)
        source: list[int] = []
        target: list[int] = []
        place = 0
        for sentinel, kept, gone in zip(self.sentinels, kept_parts, hidden_parts, strict=False):
            source += [*ids[place : place + kept], sentinel]
            target += [sentinel, *ids[place + kept : place + kept + gone]]
            place += kept + gone
        return source, target


def _parted(total: int, parts: int, draws: np.random.PCG64) -> list[int]:
    """So many whole numbers above 0 that add up to `total`; each way to do it is as likely."""
    order = np.argsort(uniform(draws, total - 1), kind="stable") if total > 1 else np.empty(0, int)
    edges = [0, *(int(cut) + 1 for cut in np.sort(order[: parts - 1])), total]
    return [end - start for start, end in zip(edges, edges[1:], strict=False)]
