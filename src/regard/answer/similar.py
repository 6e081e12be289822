"""Two texts → how alike they are; pairs with given scores → how well a model ranks them.

    cosine(a, b) = a · b / (|a| |b|)          of the vectors that `embed` makes

    Pearson    the correlation of cosines and scores
    Spearman   the correlation of their ranks: only the order counts, so no scale has to fit

Both come from scipy (extra `metrics`). Pairs are rows of a table (data/table.py): two texts, and a
score or none.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from regard.answer.table_files import MOST_CHARACTERS
from regard.data.columns import ChosenColumns
from regard.data.lines import Problem
from regard.data.role import Role
from regard.data.table import READ, Table, is_table
from regard.errors import DataError, MisuseError, shown
from regard.runs.columns import NOTHING

Embed = Callable[[list[str]], np.ndarray]
PARTS = 5  # ranges of scores, each with its mean cosine


@dataclass(frozen=True)
class TextPairs:
    """Pairs of texts, in the order of their file; `scores` is empty where it has none."""

    firsts: list[str]
    seconds: list[str]
    scores: list[float]


@dataclass(frozen=True)
class Agreement:
    """How cosines go with the scores that people gave."""

    spearman: float
    pearson: float


def cosines(a: Float[np.ndarray, "n D"], b: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    """The cosine of each row of a with the same row of b; 0 where a vector is 0."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine: np.ndarray = (a * b).sum(axis=1) / np.where(sizes, sizes, 1.0)
    return cosine


def compare(embed: Embed, firsts: Sequence[str], seconds: Sequence[str]) -> Float[np.ndarray, " n"]:
    """The cosine of each first text with its second one; a text that stands twice is read once."""
    if len(firsts) != len(seconds):
        problem = f"got {len(firsts)} first texts and {len(seconds)} second ones"
        raise MisuseError("similar", problem, expected="as many of one as of the other")
    texts = list(dict.fromkeys([*firsts, *seconds]))
    place = {text: n for n, text in enumerate(texts)}
    vectors = embed(texts)
    rows = [[place[text] for text in side] for side in (firsts, seconds)]
    return cosines(vectors[rows[0]], vectors[rows[1]])


def agreement(cosine: Float[np.ndarray, " n"], scores: Sequence[float]) -> Agreement:
    """Spearman and Pearson, by scipy."""
    try:
        from scipy import stats
    except ImportError:
        advice = "install it with: pip install 'regard[metrics]'"
        raise MisuseError("similar", "correlations need scipy", advice=advice) from None
    if len(cosine) < 2 or np.ptp(cosine) == 0 or np.ptp(np.asarray(scores)) == 0:
        problem = f"no correlation of {len(cosine)} pairs whose scores or cosines are all equal"
        raise DataError("similar", problem, expected="two or more that differ")
    return Agreement(
        float(stats.spearmanr(cosine, scores).statistic),
        float(stats.pearsonr(cosine, scores).statistic),
    )


def by_score(
    cosine: Float[np.ndarray, " n"], scores: Sequence[float]
) -> list[tuple[str, int, float]]:
    """(which scores, how many pairs, their mean cosine), the range of scores cut in equal parts."""
    edges = np.linspace(min(scores), max(scores), PARTS + 1)
    which = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, PARTS - 1)
    rows = []
    for n in range(PARTS):
        inside = cosine[which == n]
        mean = float(inside.mean()) if inside.size else math.nan
        rows.append((f"{edges[n]:.3g} to {edges[n + 1]:.3g}", int(inside.size), mean))
    return rows


def read_pairs(path: Path, columns: Mapping[str, str] = NOTHING) -> tuple[TextPairs, ChosenColumns]:
    """The pairs of a table, and which columns they are; `columns` as the user names them."""
    if not is_table(path):
        expected = f"a name that ends in {', '.join(READ)}"
        raise MisuseError("pairs", f"got {path.name}", expected=expected)
    roles = [
        Role("text", columns.get("text", "")),
        Role("pair", columns.get("pair", "")),
        Role("label", columns.get("label", ""), required=False, score=True),
    ]
    table = Table(path, roles, MOST_CHARACTERS)
    pairs = TextPairs([], [], [])
    for number, row in enumerate(table.rows, start=1):
        if row is Problem.EMPTY:
            continue
        if isinstance(row, Problem):
            advice = "correct it, or leave it out"
            raise DataError(f"{path}: row {number}", row.value, advice=advice)
        for role, side in (("text", pairs.firsts), ("pair", pairs.seconds)):
            text = table.text(row, role)
            if isinstance(text, Problem):
                raise DataError(f"{path}: row {number}", text.value, expected="two texts")
            side.append(text)
        if "label" in table.chosen.places:
            value = table.value(row, "label")
            pairs.scores.append(_score(path, number, "" if value is None else str(value)))
    if not pairs.firsts:
        raise DataError(path, "has no pairs", expected="two texts a row, and perhaps a score")
    return pairs, table.chosen


def _score(path: Path, number: int, cell: str) -> float:
    try:
        score = float(cell)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(f"{path}: row {number}", f"the score is {shown(cell)}", expected="a number")
    return score
