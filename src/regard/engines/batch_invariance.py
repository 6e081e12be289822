"""Same text, same answer: is a sentence translated alike alone, in batches, among other neighbours?

torch in fp32         the same tokens for every sentence, log p per token within 1e-5
anything else         the same tokens for at least 99.5 % of the sentences
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.decode.engine import Engine, Hypothesis, best_of
from regard.decode.options import DecodingOptions
from regard.printable import Advance, unheard

TOLERANCE = 1e-5
SHARE = 0.995
ALL = 0  # hand over everything at once, as `translate` does
WAYS = {
    "alone": 1,
    "batches of 8": 8,
    "batches of 64": 64,
    "all at once": ALL,
    "shuffled, batches of 64": 64,
}


@dataclass(frozen=True)
class BatchWay:
    """One way to group the sentences, compared with each sentence alone."""

    name: str
    same: int
    sentences: int
    largest: float  # difference of log p per token, where the tokens are the same
    different: tuple[int, ...]  # numbers of sentences that came out otherwise


@dataclass(frozen=True)
class InvarianceVerdict:
    """All ways; `kept` is whether the promise holds."""

    engine: str
    strict: bool  # torch in fp32
    ways: tuple[BatchWay, ...]

    @property
    def kept(self) -> bool:
        """Whether the promise of this engine and precision holds."""
        return all(self.holds(way) for way in self.ways)

    def holds(self, way: BatchWay) -> bool:
        """Whether it holds for one way."""
        if self.strict:
            return not way.different and way.largest <= TOLERANCE
        return way.same >= SHARE * way.sentences


def check_batch(
    engine: Engine,
    rows: Sequence[Sequence[int]],
    decoding: DecodingOptions,
    advance: Advance = unheard,
) -> InvarianceVerdict:
    """Search the same rows in several groupings and compare."""
    answers_by_way = {}
    for name, size in WAYS.items():
        order = list(range(len(rows)))
        if name.startswith("shuffled"):
            random.Random(0).shuffle(order)
        answers: dict[int, Hypothesis] = {}
        # An engine divides what it is given among its workers.
        step = {1: 1, ALL: len(order)}.get(size, size * engine.layout.workers)
        for first in range(0, len(order), step):
            numbers = order[first : first + step]
            outputs = engine.submit([rows[i] for i in numbers], decoding)()
            answers |= {i: best_of(n_best) for i, n_best in zip(numbers, outputs, strict=True)}
            advance(len(numbers))
        answers_by_way[name] = [answers[i] for i in range(len(rows))]
    alone = answers_by_way.pop("alone")
    strict = engine.name == "torch" and engine.layout.precision == "fp32"
    ways = tuple(_way(name, alone, other) for name, other in answers_by_way.items())
    return InvarianceVerdict(f"{engine.name} {engine.layout.precision}", strict, ways)


def _way(name: str, alone: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> BatchWay:
    pairs = list(zip(alone, other, strict=True))
    different = tuple(n for n, (a, b) in enumerate(pairs) if a.ids != b.ids)
    gaps = [
        abs(a.log_probability - b.log_probability) / (len(a.ids) + 1)
        for a, b in pairs
        if a.ids == b.ids
    ]
    return BatchWay(
        name, len(pairs) - len(different), len(pairs), max(gaps, default=0.0), different
    )
