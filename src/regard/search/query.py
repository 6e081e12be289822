"""An index and a query → passages: by meaning, by words, or both. `regard search`.

semantic   the cosine of the vectors (search/vectors.py); highlighted: the words with the largest
           shares of it (shares.py)
keyword    BM25 (search/words.py); highlighted: the query's words
hybrid     both lists, fused by rank: score = Σ 1 / (60 + rank), over the first 100 of each
           (reciprocal rank fusion: Cormack, Clarke and Büttcher, 2009)
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import CheckpointError, MisuseError, nearest
from regard.search.store import open_generation, read_manifest
from regard.search.table import PassageTable
from regard.search.vectors import Vectors, unit
from regard.search.words import Words, words_in

if TYPE_CHECKING:
    from regard.search.encoder import Encoder

MODES = ("semantic", "keyword", "hybrid")
FUSED = 60
DEPTH = 100
ALIEN = 0.5  # of a query's tokens unknown to the model: its vector says little

RankedRows = tuple[NDArray[np.int64], NDArray[np.float32]]
RankedPassage = tuple[int, float, dict[str, int]]  # row, score, its rank in each list


@dataclass(frozen=True)
class Highlight:
    """A word that the match rests on: its place in the text and its share of the score.

    Of a keyword there is no share: None.
    """

    word: str
    start: int
    end: int
    share: float | None = None


@dataclass(frozen=True)
class Match:
    """A passage that answers a query."""

    file: str
    first: int
    last: int
    score: float
    text: str
    highlights: list[Highlight] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)  # hybrid: the rank, from 1, in each list


class SearchIndex:
    """An index that is open for searching; made by `open_index`."""

    def __init__(self, path: Path, model: Any, device: str, check: bool) -> None:
        self.path, self._model, self._device = path, model, device
        while True:
            self.manifest, folder = open_generation(path, check)
            count = self.manifest.passages
            try:
                self.table = PassageTable(folder, count)
                self.words = Words(folder, count)
                self.vectors = Vectors(folder, count, self.manifest.width)
            except CheckpointError:
                if read_manifest(path) == self.manifest:
                    raise
                continue  # an update has just removed this generation
            return

    @cached_property
    def encoder(self) -> "Encoder":
        """The model that the index was made with, and no other; loaded when it is first needed."""
        from regard.search.encoder import open_encoder  # imports torch

        chosen = self.manifest.model if self._model is None else self._model
        encoder = open_encoder(chosen, self._device)
        encoder.insist_on(self.manifest.fingerprint, self.path)
        return encoder

    def search(
        self, query: str, k: int = 5, mode: str = "semantic", highlight: bool = True
    ) -> list[Match]:
        """The k best passages, best first; fewer, where a keyword search finds fewer."""
        if mode not in MODES:
            raise MisuseError("mode", got=mode, advice=nearest(mode, MODES))
        if k < 1:
            raise MisuseError("k", got=k, expected="1 or more")
        if not query.strip():
            raise MisuseError("query", "got an empty text", expected="words to search for")
        vector = None if mode == "keyword" else self.vector(query)
        lists: dict[str, RankedRows] = {}
        depth = k if mode != "hybrid" else max(k, DEPTH)
        if vector is not None:
            lists["semantic"] = self.vectors.nearest(vector, depth)
        if mode != "semantic":
            lists["keyword"] = self.words.nearest(query, depth)
        if mode != "hybrid":
            ((rows, scores),) = lists.values()
            pairs = zip(rows.tolist(), scores.tolist(), strict=True)
            ranked: list[RankedPassage] = [(row, score, {}) for row, score in pairs]
        else:
            ranked = fuse(lists)[:k]
        return [
            self._match(row, score, ranks, query, vector if highlight else None, highlight)
            for row, score, ranks in ranked
        ]

    def vector(self, query: str) -> NDArray[np.float32]:
        """The query's vector, of length 1."""
        vector: NDArray[np.float32] = unit(self.encoder.embed([query]))[0]
        return vector

    def is_strange(self, query: str) -> bool:
        """Whether the model knows less than half of the query: another language, or none."""
        return self.encoder.unknown(query) > ALIEN

    def _match(
        self,
        row: int,
        score: float,
        ranks: dict[str, int],
        query: str,
        vector: NDArray[np.float32] | None,
        highlight: bool,
    ) -> Match:
        name, passage = self.table.passage(row)
        marks = _same_words(query, passage.text) if highlight else []
        if vector is not None and (not ranks or not marks):
            from regard.search.shares import word_shares  # imports torch

            shares = word_shares(self.encoder, passage.text, vector)
            marks = [Highlight(**vars(word)) for word in shares.outstanding()]
        return Match(name, passage.first, passage.last, score, passage.text, marks, ranks)


def _same_words(query: str, text: str) -> list[Highlight]:
    wanted = {word for *_, word in words_in(query)}
    return [
        Highlight(text[start:end], start, end)
        for start, end, word in words_in(text)
        if word in wanted
    ]


def fuse(lists: dict[str, RankedRows]) -> list[RankedPassage]:
    """Rows by reciprocal rank fusion, best first, with their ranks in each list."""
    ranks: dict[int, dict[str, int]] = {}
    for name, (rows, _) in lists.items():
        for rank, row in enumerate(rows.tolist(), start=1):
            ranks.setdefault(row, {})[name] = rank
    scored = [
        (row, sum(1 / (FUSED + rank) for rank in each.values()), each)
        for row, each in ranks.items()
    ]
    return sorted(scored, key=lambda passage: (-passage[1], passage[0]))


def open_index(
    path: str | Path, model: Any = None, *, device: str = "auto", check: bool = True
) -> SearchIndex:
    """An index to search. `model` where its own has moved; `check=False` opens it without looking
    at every byte (then a damaged one may answer wrongly)."""
    return SearchIndex(Path(path), model, device, check)
