"""A text → those of its sentences that say most of it, by vectors of a sentence encoder.

    score(i) = cos(v_i, w) + POSITION · (1 - i / (n - 1))

v_i is the vector of sentence i of n, w that of the whole text: the mean over windows that the
encoder can read. Sentences are taken one after another, each time the one with the highest

    score(i) - REDUNDANCY · max over those taken of cos(v_i, v_j)

(maximal marginal relevance, Carbonell and Goldstein 1998), and shown in the order of the text. Both
weights were chosen on the dev part of SciTLDR (docs/summarize.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

SentenceVectors = Float[np.ndarray, "n D"]
SentenceScores = Float[np.ndarray, " n"]

POSITION = 0.05  # that the first sentence has more than the last
REDUNDANCY = 0.25  # of the likeness to what is taken already


@dataclass(frozen=True)
class DocumentSentence:
    """A sentence of a text: its number among them and the line where it begins, both from 1."""

    text: str
    number: int
    line: int
    score: float = 0.0

    @property
    def words(self) -> int:
        return len(self.text.split())


def sentence_scores(vectors: SentenceVectors, whole: Float[np.ndarray, " D"]) -> SentenceScores:
    """How much of the whole each sentence says, the earlier a little more."""
    count = len(vectors)
    early = 1 - np.arange(count) / max(1, count - 1)
    scores: SentenceScores = _unit(vectors) @ _unit(whole[None])[0] + POSITION * early
    return scores


def taken(
    vectors: SentenceVectors, scores: SentenceScores, enough: Callable[[Sequence[int]], bool]
) -> list[int]:
    """The numbers (from 0) of the chosen sentences in the order of the text; at least one.

    `enough` is asked after each whether those taken are as many as wanted.
    """
    alike = _unit(vectors) @ _unit(vectors).T
    chosen: list[int] = []
    while len(chosen) < len(scores) and not (chosen and enough(chosen)):
        again = alike[:, chosen].max(axis=1) if chosen else np.zeros(len(scores))
        left = scores - REDUNDANCY * again
        left[chosen] = -np.inf
        chosen.append(int(left.argmax()))
    return sorted(chosen)


def _unit(vectors: SentenceVectors) -> SentenceVectors:
    unit: SentenceVectors = vectors / np.maximum(
        np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12
    )
    return unit
