"""How the answers of a task are judged: by one of five numbers, each from 0 to 100.

bleu       sacreBLEU of all answers together
exact      the share of answers that are the right one, word by word
accuracy   the share of the right answers' words that stand at the same place in the answer: for
           tags, and for labels of one word, where it is the same as `exact`
f1         how many words answer and right answer share, the mean over the answers; articles,
           capitals and signs do not count (Rajpurkar et al. 2016): for questions
rouge      ROUGE-L, the mean over the answers (rouge.py): for summaries
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from regard.prepare.rouge import rouge_of
from regard.runs.sections import Metric

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_SIGNS = re.compile(r"[^\w\s]")
NAMES: dict[Metric, str] = {
    "bleu": "BLEU",
    "exact": "exact",
    "accuracy": "accuracy",
    "f1": "F1",
    "rouge": "ROUGE-L",
}


@dataclass(frozen=True)
class TaskScore:
    """How well one task was done."""

    name: str
    metric: Metric
    score: float
    examples: int

    def __str__(self) -> str:
        return f"{self.name} {NAMES[self.metric]} {self.score:.1f}"


def bleu(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Of the corpus."""
    return float(BLEU(force=True).corpus_score(list(outputs), [list(references)]).score)


def exact(outputs: Sequence[str], references: Sequence[str]) -> float:
    """White space does not count."""
    pairs = zip(outputs, references, strict=True)
    return 100 * sum(one.split() == other.split() for one, other in pairs) / len(references)


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Over the words of all references together."""
    right = total = 0
    for output, reference in zip(outputs, references, strict=True):
        words = reference.split()
        total += len(words)
        right += sum(map(str.__eq__, words, output.split()))
    return 100 * right / max(1, total)


def f1(outputs: Sequence[str], references: Sequence[str]) -> float:
    """The mean over the answers."""
    pairs = zip(outputs, references, strict=True)
    return 100 * sum(word_overlap(_bag(one), _bag(other)) for one, other in pairs) / len(references)


def _bag(text: str) -> Counter[str]:
    plain = _ARTICLES.sub(" ", _SIGNS.sub("", text.lower()))
    return Counter(plain.split())


def word_overlap(answer: Counter[str], right: Counter[str]) -> float:
    """F1 of an answer's words and those of a right one; 1 where both have none."""
    if not answer or not right:
        return float(answer == right)
    shared = (answer & right).total()
    return 2 * shared / (answer.total() + right.total())


def rouge(outputs: Sequence[str], references: Sequence[str]) -> float:
    """The longest words in order that both have."""
    return rouge_of(outputs, [[one] for one in references]).rougeL


METRICS: dict[Metric, Callable[[Sequence[str], Sequence[str]], float]] = {
    "bleu": bleu,
    "exact": exact,
    "accuracy": accuracy,
    "f1": f1,
    "rouge": rouge,
}


def judged(
    name: str, metric: Metric, outputs: Sequence[str], references: Sequence[str]
) -> TaskScore:
    """The score of a task's answers."""
    return TaskScore(name, metric, METRICS[metric](outputs, references), len(references))
