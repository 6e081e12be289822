"""Two texts → how alike they are; pairs with given scores → how well a model ranks them.

    cosine(a, b) = a · b / (|a| |b|)          of the vectors that `embed` makes

    Pearson    the correlation of cosines and scores
    Spearman   the correlation of their ranks: only the order counts, so no scale has to fit

Both come from scipy (extra `stats`). Pairs are read from CSV (quoted as spreadsheets write it,
line breaks too) or TSV (no quoting): two texts, and a score as a third column or none. A first line
whose third column is no number is a header.
"""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.careful import shown
from regard.errors import DataError, MisuseError

Embed = Callable[[list[str]], np.ndarray]
LONGEST_CELL = 1_000_000  # characters; as long as a text may be
DIALECTS: dict[str, dict[str, Any]] = {
    ".csv": {"delimiter": ",", "strict": True},
    ".tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}


@dataclass(frozen=True)
class Pairs:
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
    found: np.ndarray = (a * b).sum(axis=1) / np.where(sizes, sizes, 1.0)
    return found


def compare(embed: Embed, firsts: Sequence[str], seconds: Sequence[str]) -> Float[np.ndarray, " n"]:
    """The cosine of each first text with its second one; a text that stands twice is read once."""
    if len(firsts) != len(seconds):
        raise MisuseError(
            f"similar: got {len(firsts)} first texts and {len(seconds)} second ones, expected "
            "as many of one as of the other"
        )
    texts = list(dict.fromkeys([*firsts, *seconds]))
    place = {text: n for n, text in enumerate(texts)}
    vectors = embed(texts)
    rows = [[place[text] for text in side] for side in (firsts, seconds)]
    return cosines(vectors[rows[0]], vectors[rows[1]])


def agreement(found: Float[np.ndarray, " n"], scores: Sequence[float]) -> Agreement:
    """Spearman and Pearson, by scipy."""
    try:
        from scipy import stats
    except ImportError:
        raise MisuseError(
            "similar: correlations need scipy; install it with: pip install 'regard[metrics]'"
        ) from None
    if len(found) < 2 or np.ptp(found) == 0 or np.ptp(np.asarray(scores)) == 0:
        raise DataError(
            f"similar: no correlation of {len(found)} pairs whose scores or cosines are all "
            "equal; expected two or more that differ"
        )
    return Agreement(
        float(stats.spearmanr(found, scores).statistic),
        float(stats.pearsonr(found, scores).statistic),
    )


def by_score(
    found: Float[np.ndarray, " n"], scores: Sequence[float], parts: int = 5
) -> list[tuple[str, int, float]]:
    """(which scores, how many pairs, their mean cosine), the range of scores cut in equal parts."""
    given = np.asarray(scores)
    edges = np.linspace(given.min(), given.max(), parts + 1)
    which = np.clip(np.searchsorted(edges, given, side="right") - 1, 0, parts - 1)
    rows = []
    for n in range(parts):
        inside = found[which == n]
        mean = float(inside.mean()) if inside.size else math.nan
        rows.append((f"{edges[n]:.3g} to {edges[n + 1]:.3g}", int(inside.size), mean))
    return rows


def read_pairs(path: Path) -> Pairs:
    """The pairs of a CSV or TSV file."""
    if path.suffix not in DIALECTS:
        raise MisuseError(
            f"pairs: got {path.name}, expected a name that ends in {' or '.join(DIALECTS)}"
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(_rows(path, csv.reader(file, **DIALECTS[path.suffix])))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not valid UTF-8; write it as UTF-8") from None
    if not rows:
        raise DataError(f"{path}: has no pairs; expected two texts a line, and perhaps a score")
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width:
            raise DataError(
                f"{path}: line {number}: got {len(row)} columns, expected {width} as in the first"
            )
    scores = [_score(path, number, row[2]) for number, row in rows] if width == 3 else []
    return Pairs([row[0] for _, row in rows], [row[1] for _, row in rows], scores)


def _rows(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """(line, columns); empty lines and a header are left out."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        for row in reader:
            if not row:
                continue
            if len(row) not in (2, 3):
                raise DataError(
                    f"{path}: line {reader.line_num}: got {len(row)} columns, expected two texts, "
                    "or two texts and a score"
                )
            if reader.line_num == 1 and len(row) == 3 and _number(row[2]) is None:
                continue
            yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}; quote it as CSV") from None
    finally:
        csv.field_size_limit(before)


def _score(path: Path, number: int, cell: str) -> float:
    score = _number(cell)
    if score is None:
        raise DataError(f"{path}: line {number}: the score is {shown(cell)}, expected a number")
    return score


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
