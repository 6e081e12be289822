"""A shortlist: the few target pieces that a source sentence can need, learned from its corpus.

The output layer is the largest product of a decoding step, and most of a vocabulary has nothing to
do with a given sentence. Which target pieces t go with a source piece s, IBM's model 1 says
(Brown et al. 1993): each target piece comes from one source piece of its sentence. A few rounds of

    expected   c(s, t) = Σ over sentences with both   p(t|s) / Σ_s' p(t|s')    s' in the sentence
    improved   p(t|s)  = c(s, t) / Σ_t' c(s, t')

In: pairs of ids. Out: for each source piece its likeliest target pieces, and the target pieces that
are so frequent that every sentence may have them; and the file that the ctranslate2 library reads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard import atomic
from regard.errors import DataError

Ids = Sequence[int] | NDArray[np.integer[Any]]
Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

MAX_CELLS = 10_000_000  # source × target places that are looked at: some seconds, some 500 MB
ROUNDS = 4
# Frequent pieces are cheap, since the sentences of a batch share them: of 8,000 pieces 64 sentences
# need 3,200 with these numbers, and 3,300 with 400 and 60, which leave out half as many again.
COMMON, LIKELY = 2000, 40
LEAST = 1e-4  # p(t|s) below it is noise


@dataclass(frozen=True)
class Shortlist:
    """`common` target pieces, and those that are `likely` with each source piece."""

    common: tuple[int, ...]
    likely: dict[int, tuple[int, ...]]

    def of(self, source: Iterable[int]) -> set[int]:
        """The target pieces that a source sentence can have."""
        return set(self.common).union(*(self.likely.get(i, ()) for i in source))


def learn_shortlist(
    pairs: Iterable[tuple[Ids, Ids]],
    vocabulary: int,
    common: int | None = None,
    likely: int = LIKELY,
) -> Shortlist:
    """Learn it from pairs of ids, as many of the first as MAX_CELLS allows.

    A source piece also stands for itself, so that names can be copied where both sides share their
    pieces. `common` is COMMON, or a quarter of a smaller vocabulary.
    """
    most = min(COMMON, vocabulary // 4) if common is None else common
    source, target, p, counts = likelihoods(pairs, vocabulary)
    # Frequent first; of equally frequent ones, the one with the smaller id.
    frequent = np.argsort(-counts, kind="stable")[:most]
    always = tuple(int(i) for i in frequent if counts[i])
    return Shortlist(always, _likeliest(source, target, p, likely))


def likelihoods(
    pairs: Iterable[tuple[Ids, Ids]], vocabulary: int, rounds: int = ROUNDS
) -> tuple[Ints, Ints, Floats, Ints]:
    """p(t|s) of every s and t that stand in one pair: rows of s, of t, of p; and the counts of t.

    A source piece counts once in its sentence.
    """
    sources, targets, places, counts = _cells(pairs, vocabulary)
    if not len(sources):
        raise DataError("shortlist: there are no pairs to learn it from; got none or empty ones")
    keys, inverse = np.unique(sources.astype(np.int64) * vocabulary + targets, return_inverse=True)
    source, target = np.divmod(keys, vocabulary)
    p = np.ones(len(keys))
    for _ in range(rounds):
        share = p[inverse]
        share /= np.bincount(places, share)[places]
        expected = np.bincount(inverse, share, len(keys))
        p = expected / np.bincount(source, expected, vocabulary)[source]
    return source, target, p, counts


def _cells(pairs: Iterable[tuple[Ids, Ids]], vocabulary: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Each source piece with each target piece of its sentence, the place of the target piece,
    numbered through the corpus, and how often each target piece was seen."""
    sources: list[Ints] = [np.zeros(0, np.int32)]
    targets, places = list(sources), list(sources)
    counts = np.zeros(vocabulary, np.int64)
    cells = first = 0
    for source, target in pairs:
        s, t = np.unique(np.asarray(source, np.int32)), np.asarray(target, np.int32)
        cells += len(s) * len(t)
        if cells > MAX_CELLS and first:
            break
        sources.append(np.repeat(s, len(t)))
        targets.append(np.tile(t, len(s)))
        places.append(np.tile(np.arange(first, first + len(t), dtype=np.int32), len(s)))
        first += len(t)
        np.add.at(counts, t, 1)
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(places), counts


def _likeliest(source: Ints, target: Ints, p: Floats, most: int) -> dict[int, tuple[int, ...]]:
    order = np.lexsort((-p, source))
    starts = np.flatnonzero(np.diff(source[order], prepend=-1))
    likeliest: dict[int, tuple[int, ...]] = {}
    for rows in np.split(order, starts[1:]):
        i = int(source[rows[0]])
        kept = [int(target[row]) for row in islice(rows, most) if p[row] >= LEAST]
        likeliest[i] = tuple(dict.fromkeys([*kept, i]))
    return likeliest


def write_shortlist(path: Path, shortlist: Shortlist, pieces: Sequence[str]) -> None:
    """The file vmap.txt of the ctranslate2 library.

    A line for each source piece: the piece, a tab, target pieces with spaces between. The line
    whose source is empty has the common ones.
    """
    rows = {"": shortlist.common} | {pieces[i]: ids for i, ids in shortlist.likely.items()}
    used = {pieces[i] for ids in rows.values() for i in ids}
    for piece in used.union(rows):
        if set(piece) & set(" \t\r\n"):
            raise DataError(
                f"shortlist: the piece {piece!r} has white space in it, which the file of the "
                "ctranslate2 library cannot hold; use a tokenizer of another kind, or no shortlist"
            )
    lines = [f"{piece}\t{' '.join(pieces[i] for i in ids)}\n" for piece, ids in rows.items()]
    atomic.write_text(path, "".join(lines))
