"""Keyword search: words → passages by BM25, computed by the library `bm25s`.

    score(q, p) = Σ_w idf(w) · f / (f + k₁ (1 − b + b |p| / mean|p|))       k₁ = 1.5, b = 0.75

over the words w of the query, f times in the passage. A word is a run of letters, digits and the
marks that go with them, without regard to case and to how its characters are composed; nothing is
stemmed and no word is left out for being frequent, so it works for every language that puts spaces
between words.

The library keeps a sparse matrix as plain .npy files, which are memory-mapped, and its vocabulary
as JSON. It can write pickles when asked to; it is not asked, and reading them stays forbidden.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import CheckpointError, MisuseError

FOLDER = "words"
# How the library computes; said again when an index is opened: its file chooses no code.
SETTINGS = {
    "k1": 1.5,
    "b": 0.75,
    "method": "lucene",
    "idf_method": "lucene",
    "dtype": "float32",
    "int_dtype": "int32",
    "backend": "numpy",
}


@cache
def _pattern() -> re.Pattern[str]:
    """Letters, digits and combining marks: Python's \\w has no vowel signs of Hindi."""
    every = map(chr, range(sys.maxunicode + 1))
    marks = "".join(c for c in every if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_][\\w{marks}]*")


def plain(word: str) -> str:
    """A word as it is compared: composed, without case."""
    return unicodedata.normalize("NFKC", word).casefold()


def words_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and plain form of each word of a text."""
    for match in _pattern().finditer(text):
        yield match.start(), match.end(), plain(match[0])


def bm25s() -> Any:
    """The library, or how to get it."""
    try:
        import bm25s as library
    except ImportError:
        raise MisuseError(
            "index and search: the library bm25s is not installed; "
            "install it with `pip install 'regard[search]'`"
        ) from None
    return library


def write_words(folder: Path, texts: Iterable[str]) -> None:
    """The BM25 matrix of the passages, below `folder`; nothing where they hold no word at all."""
    vocabulary: dict[str, int] = {}
    rows = [
        [vocabulary.setdefault(word, len(vocabulary)) for _, _, word in words_in(text)]
        for text in texts
    ]
    if not vocabulary:
        return
    index = bm25s().BM25(**SETTINGS)
    index.index((rows, vocabulary), show_progress=False)
    index.save(folder / FOLDER, allow_pickle=False, show_progress=False)


class Words:
    """The keyword side of an index that lies in `folder`."""

    def __init__(self, folder: Path, passages: int) -> None:
        self._index: Any = None
        if (folder / FOLDER).is_dir():
            try:
                self._index = bm25s().BM25.load(
                    folder / FOLDER,
                    mmap=True,
                    allow_pickle=False,
                    show_progress=False,
                    override_params=SETTINGS,
                )
                fits = _fits(self._index, passages)
            except Exception as error:  # whatever the library makes of what it finds there
                problem = f"cannot be read: {type(error).__name__}: {str(error)[:200]}"
                advice = "make the index again with `regard index … --rebuild`"
                raise CheckpointError(folder / FOLDER, problem, advice=advice) from None
            if not fits:
                raise CheckpointError(folder / FOLDER, "is not of these passages")

    def nearest(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and scores of the k best passages that hold a word of the query, best first."""
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if self._index is None:
            return nothing
        vocabulary = self._index.vocab_dict
        ids = [
            vocabulary[word]
            for word in dict.fromkeys(w for *_, w in words_in(query))
            if word in vocabulary
        ]
        if not ids:
            return nothing
        scores = np.asarray(self._index.get_scores_from_ids(ids), dtype=np.float32)
        return best(scores, k, above=0.0)


def _fits(index: Any, passages: int) -> bool:
    """Whether the matrix has a row for each passage, a column for each word, and no other place."""
    data, rows, ends = (index.scores[name] for name in ("data", "indices", "indptr"))
    words = index.vocab_dict
    return bool(
        index.scores["num_docs"] == passages
        and data.shape == rows.shape == (ends[-1],)
        and data.dtype.kind == "f"
        and rows.dtype.kind == ends.dtype.kind == "i"
        and ends[0] == 0
        and (np.diff(ends) >= 0).all()
        and rows.min(initial=0) >= 0
        and rows.max(initial=0) < max(1, passages)
        and isinstance(words, dict)
        # "" is the library's own, for a text without words
        and all(type(i) is int and 0 <= i < len(ends) - 1 for word, i in words.items() if word)
    )


def best(
    scores: NDArray[np.float32], k: int, above: float = -np.inf
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The places of the k highest scores above a bound, and these; equal ones in order."""
    rows = np.flatnonzero(scores > above)
    if rows.size > k:
        bound = np.partition(scores[rows], rows.size - k)[rows.size - k]
        rows = rows[scores[rows] >= bound]
    rows = rows[np.lexsort((rows, -scores[rows]))][:k].astype(np.int64)
    return rows, scores[rows]
