"""ROUGE: how many words, pairs of words, and words in order a summary shares with a right one.

By the library `rouge-score` (extra `metrics`), with its stemmer. Of each number it is F1; where
there are several right summaries it is that of the one that it is highest for, as SciTLDR counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from regard.errors import MisuseError

KINDS = ("rouge1", "rouge2", "rougeL")


@dataclass(frozen=True)
class Rouge:
    """Means over the summaries, each from 0 to 100."""

    rouge1: float
    rouge2: float
    rougeL: float


def insist_on_rouge(where: str) -> None:
    """Say that the library is missing before anything slow begins."""
    if find_spec("rouge_score") is None:
        advice = "install it with: pip install 'regard[metrics]'"
        raise MisuseError(where, "ROUGE needs the library rouge-score", advice=advice)


def rouge_of(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Rouge:
    """Each output beside its right summaries, one or several."""
    insist_on_rouge("rouge")
    from rouge_score.rouge_scorer import RougeScorer  # an extra

    scorer = RougeScorer(list(KINDS), use_stemmer=True)
    totals = dict.fromkeys(KINDS, 0.0)
    for output, right in zip(outputs, references, strict=True):
        scores = scorer.score_multi(list(right), output)
        for kind in KINDS:
            totals[kind] += 100 * scores[kind].fmeasure
    return Rouge(**{kind: total / max(1, len(outputs)) for kind, total in totals.items()})
