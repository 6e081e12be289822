"""An attention map read in three more ways: as equations, as a grid of dots, as a filter.

    equation   bank = 0.25 money + 0.70 bank + 0.05 grows      one row of the weights
    dots       words looked at down the side, words that look across the top
    filter     Q Kᵀ  →  Q Kᵀ / √d_k  →  softmax                one head, token by token
               (T5: without √d_k, plus a number for each distance)

A map goes in (heads.py), numbers with their words come out; draw/ makes the pictures.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.explain.heads import AttentionMap, Attentions
from regard.explain.place import find_word, told_apart
from regard.model.spec import Spec

FOLDED_BELOW = 0.005  # a weight that two decimals would write as 0.00


@dataclass(frozen=True)
class Equation:
    """word = Σ weight · word: one row of a map; `others` is the sum of what was left out."""

    word: str
    terms: tuple[tuple[float, str], ...]
    others: float

    def summands(self) -> list[str]:
        """ "0.70 bank", in the order of the sentence; the rest last."""
        written = [f"{weight:.2f} {word}" for weight, word in self.terms]
        return [*written, f"{self.others:.2f} others"] if self.others >= FOLDED_BELOW else written

    def __str__(self) -> str:
        return f"{self.word} = {' + '.join(self.summands())}"


def equations(
    chosen: AttentionMap, head: int | None = None, word: str | None = None, every: bool = False
) -> list[Equation]:
    """Each row (or those that `word` names) as an equation; `every` keeps the smallest terms."""
    weights = chosen.head(head)
    rows, columns = told_apart(chosen.rows), told_apart(chosen.columns)
    places = range(len(rows)) if word is None else find_word(chosen.rows, word)
    written = []
    for row in places:
        terms = [(float(w), name) for w, name in zip(weights[row], columns, strict=True)]
        kept = tuple(term for term in terms if every or term[0] >= FOLDED_BELOW)
        others = 0.0 if every else sum(w for w, _ in terms if w < FOLDED_BELOW)
        written.append(Equation(rows[row], kept, others))
    return written


@dataclass(frozen=True)
class Dots:
    """A map turned on its side: rows are looked at, columns look; each column sums to 1."""

    weights: Float[np.ndarray, "rows columns"]
    rows: list[str]
    columns: list[str]


def dots(chosen: AttentionMap, head: int | None = None) -> Dots:
    """Source words down the side and target words across the top, as one writes it by hand."""
    return Dots(chosen.head(head).T.copy(), chosen.columns, chosen.rows)


@dataclass(frozen=True)
class Filter:
    """How scores of one head become weights, token by token; NaN where a mask forbids."""

    rows: list[str]
    columns: list[str]
    products: Float[np.ndarray, "rows columns"]  # Q Kᵀ
    scores: Float[np.ndarray, "rows columns"]  # Q Kᵀ / √d_k
    weights: Float[np.ndarray, "rows columns"]  # softmax of each row
    d_k: int
    head: int
    step: str  # what lies between products and scores


def score_step(spec: Spec, kind: str) -> str:
    """How the scores of an attention are made from its dot products."""
    biased = spec.positions == "relative" and kind != "cross"
    steps = [f"÷ √d_k = √{spec.k}, d_k being the size of a head"] if spec.score_scale else []
    steps += ["+ the number of each distance"] if biased else []
    return f"{' '.join(steps) or 'as they are'}: the scores"


def attention_filter(
    attentions: Attentions, kind: str = "encoder", layer: int | None = None, head: int | None = None
) -> Filter:
    """The steps of one head (counted from 1; None: the first); `attentions` must hold pieces.

    Every number is one that the pass recorded. Dot products of pieces do not add up to those of
    words, so nothing is merged.
    """
    pieces = attentions.map(kind, layer)
    number = 1 if head is None else head
    weights = pieces.head(number)
    place = number - 1
    products, scores = (
        attentions.traced(name, kind, layer)[place] for name in ("products", "scores")
    )
    assert scores.shape == weights.shape, "attend(…, pieces=True) is needed for a filter"
    forbidden = np.isinf(attentions.traced("masked", kind, layer)[place])
    return Filter(
        pieces.rows,
        pieces.columns,
        np.where(forbidden, math.nan, products),
        np.where(forbidden, math.nan, scores),
        np.where(forbidden, math.nan, weights),
        d_k=attentions.traced("q", kind, layer).shape[-1],
        head=number,
        step=score_step(attentions.spec, kind),
    )
