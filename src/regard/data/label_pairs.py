"""Few labels: rows drawn from a table, and pairs made of rows, alike where their labels are.

A few labelled texts are many pairs: of each text, again and again, one partner with its label and
one with another. Vectors that learn to tell those apart (objective "similar") know the labels, and
a classifier that begins with them needs few examples (SetFit, Tunstall et al. 2022). Everything is
a function of rows and seed, so that a run that is taken up again learns from the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from heapq import nsmallest

import numpy as np

from regard.data.corpus import plain
from regard.data.labelled import Labelled


def few_of_each(rows: Iterable[Labelled], count: int, seed: int) -> list[Labelled]:
    """`count` rows of each label (all where there are fewer), drawn by their texts, in order."""
    key = seed.to_bytes(8, "little", signed=True)
    kept: dict[tuple[str, ...], list[tuple[bytes, int, Labelled]]] = defaultdict(list)
    for number, row in enumerate(rows):
        digest = blake2b(plain(row.text).encode(), digest_size=8, key=key).digest()
        of_label = kept[row.labels]
        of_label.append((digest, number, row))
        if len(of_label) >= 2 * count:  # never many more than are needed
            kept[row.labels] = nsmallest(count, of_label)
    drawn = [each for of_label in kept.values() for each in nsmallest(count, of_label)]
    return [row for _, _, row in sorted(drawn, key=lambda each: each[1])]


def label_pairs(
    rows: Sequence[Labelled], times: int, seed: int, alike: str, apart: str
) -> Iterator[Labelled]:
    """Of each row, `times` over, one pair of its label and one of two labels.

    `alike` and `apart` are the scores of either. A label that stands once has no pairs of its own.
    """
    chance = np.random.default_rng(seed)
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row.labels].append(place)
    others = {
        labels: [n for other, of_other in places.items() if other != labels for n in of_other]
        for labels in places
    }
    for _ in range(times):
        for place, row in enumerate(rows):
            same = [n for n in places[row.labels] if n != place]
            for among, score in ((same, alike), (others[row.labels], apart)):
                if among:
                    partner = rows[among[int(chance.integers(len(among)))]]
                    yield replace(row, pair=partner.text, labels=(score,))
