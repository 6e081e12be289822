"""Which examples form which batch. In: the lengths of all examples. Out: arrays of their numbers.

A batch is as wide as its longest sentence, and the rest is padding that costs time and teaches
nothing. So examples of similar lengths on *both* sides go together, and a batch is bounded by
tokens, not by sentences: rows × (longest source + longest target) ≤ token budget.

    source ↑   ┌──┬────┬──┐   1. by source length, cut into strips of equal cost
           │   ├─┬┴─┬──┴──┤   2. in each strip by target length, in turn up and down
           │   ├─┴──┴─┬───┤   3. along this path, cut whenever the budget is full
           │   └──────┴───┘   4. batches in random order
           └────────────→ target

Chance enters at each step (a jitter on lengths, where the first strip ends, the order at the end)
and comes from (seed, epoch) alone: batch k of epoch e is always the same, so a run resumes at any
step by two numbers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.mixture import Portion, choose_examples
from regard.errors import MisuseError

Lengths = NDArray[np.integer[Any]]
Numbers = NDArray[np.int64]

_JITTER = 2.0  # tokens: lengths this close are taken as equal, so that neighbours change


def plan_epoch(
    source_lengths: Lengths, target_lengths: Lengths, *, token_budget: int, seed: int, epoch: int
) -> list[Numbers]:
    """The batches of one epoch, each an array of example numbers; every example comes once.

    An example that alone exceeds the budget gets a batch of its own. Lengths are positions, <s>
    and </s> counted; those of examples without another side are 0 there.
    """
    assert len(source_lengths) == len(target_lengths), (len(source_lengths), len(target_lengths))
    if token_budget < 1 or seed < 0 or epoch < 0:
        problem = f"got token budget {token_budget}, seed {seed}, epoch {epoch}"
        expected = "a budget of at least 1, and a seed and an epoch of at least 0."
        raise MisuseError("batches", problem, expected=expected)
    if len(source_lengths) == 0:
        return []
    chance = np.random.PCG64(np.random.SeedSequence([seed, epoch]))
    source, target = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
    path = _path(source, target, token_budget, chance)
    batches = _cut(path, source, target, token_budget)
    order = np.argsort(uniform(chance, len(batches)), kind="stable")
    return [batches[i] for i in order]


def padding_share(plan: Sequence[Numbers], source: Lengths, target: Lengths) -> float:
    """The part of all positions in the planned batches that is padding, from 0 to 1."""
    real = sum(int(source[batch].sum() + target[batch].sum()) for batch in plan)
    paid = sum(len(batch) * int(source[batch].max() + target[batch].max()) for batch in plan)
    return 1 - real / paid if paid else 0.0


class PlannedBatch(NamedTuple):
    """A batch and its place in training; the place after it is (epoch, number + 1)."""

    epoch: int
    number: int
    examples: Numbers


@dataclass(frozen=True)
class BatchOrder:
    """All batches of a training, epoch after epoch without end, from any place on."""

    source_lengths: Lengths
    target_lengths: Lengths
    token_budget: int
    seed: int
    corpora: Sequence[Portion] = ()  # with weights; without any, each example comes once

    def plan(self, epoch: int) -> list[Numbers]:
        """The batches of one epoch."""
        limits = {"token_budget": self.token_budget, "seed": self.seed, "epoch": epoch}
        if all(corpus.weight == 1 for corpus in self.corpora):
            return plan_epoch(self.source_lengths, self.target_lengths, **limits)
        chosen = choose_examples(self.corpora, self.seed, epoch)
        plan = plan_epoch(self.source_lengths[chosen], self.target_lengths[chosen], **limits)
        return [chosen[batch] for batch in plan]

    def of_epoch(self, epoch: int, number: int = 0) -> Iterator[PlannedBatch]:
        """Yield batch `number` of `epoch` and those after it, to the epoch's end."""
        if len(self.source_lengths) == 0:
            raise MisuseError("batches", "there are no examples to train on.")
        plan = self.plan(epoch)
        if not 0 <= number <= len(plan):
            problem = f"epoch {epoch} has {len(plan)} batches, got number {number}"
            advice = "the corpus, token budget or seed is not the one this place belongs to."
            raise MisuseError("batches", problem, advice=advice)
        return (PlannedBatch(epoch, i, plan[i]) for i in range(number, len(plan)))

    def start_at(self, epoch: int = 0, number: int = 0) -> Iterator[PlannedBatch]:
        """Yield batch `number` of `epoch` and all after it; one past the last is the next epoch."""
        later = chain.from_iterable(map(self.of_epoch, count(epoch + 1)))
        return chain(self.of_epoch(epoch, number), later)


def uniform(chance: np.random.PCG64, *shape: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) from raw bits: NumPy promises those for ever, its distributions not."""
    raw = chance.random_raw(math.prod(shape)) >> np.uint64(11)
    return (raw.astype(np.float64) * 2.0**-53).reshape(shape)


def _path(source: Numbers, target: Numbers, budget: int, chance: np.random.PCG64) -> Numbers:
    """All examples in an order in which neighbours are similar on both sides."""
    blurred_source = source + _JITTER * uniform(chance, len(source))
    blurred_target = target + _JITTER * uniform(chance, len(target))
    by_source = np.argsort(blurred_source, kind="stable")
    cost = np.cumsum((source + target)[by_source])
    # Square root: as many strips as batches in a strip; twice as many batches measured best.
    strips = max(1.0, (2 * cost[-1] / budget) ** 0.5)
    strip = np.empty(len(source), dtype=np.int64)
    strip[by_source] = np.floor(cost / cost[-1] * strips + uniform(chance, 1))
    up_and_down = np.where(strip % 2 == 0, blurred_target, -blurred_target)
    return np.lexsort((up_and_down, strip))


def _cut(path: Numbers, source: Numbers, target: Numbers, budget: int) -> list[Numbers]:
    """Cut the path into batches, each as long as the budget allows."""
    batches: list[Numbers] = []
    start = widest_source = widest_target = 0
    lengths = zip(source[path].tolist(), target[path].tolist(), strict=True)
    for end, (one, other) in enumerate(lengths):
        wider_source = max(widest_source, one)
        wider_target = max(widest_target, other)
        if end > start and (end + 1 - start) * (wider_source + wider_target) > budget:
            batches.append(path[start:end])
            start, wider_source, wider_target = end, one, other
        widest_source, widest_target = wider_source, wider_target
    return [*batches, path[start:]]
