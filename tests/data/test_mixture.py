"""Corpora with weights: how often each pair comes, by counting; one order for one seed."""

from collections import Counter

import numpy as np
import pytest

from regard.data.buckets import BatchOrder, plan_epoch
from regard.data.mixture import Portion, choose_examples


def counts(parts: list[Portion], epochs: int, seed: int = 1) -> Counter[int]:
    found: Counter[int] = Counter()
    for epoch in range(epochs):
        found.update(choose_examples(parts, seed, epoch).tolist())
    return found


@pytest.mark.parametrize(
    ("weight", "epochs", "times"),
    [(1 / 7, 7, 1), (1 / 7, 14, 2), (9 / 7, 7, 9), (3, 4, 12), (0.5, 21, 10)],
)
def test_over_the_epochs_every_pair_comes_equally_often(
    weight: float, epochs: int, times: int
) -> None:
    """21 pairs; half of them is 10 an epoch, which makes ten whole rounds in 21 epochs."""
    assert counts([Portion("web", 21, weight)], epochs) == dict.fromkeys(range(21), times)


def test_an_epoch_takes_the_share_of_each_corpus() -> None:
    parts = [
        Portion("data", 10, 2.0),
        Portion("web", 100, 0.3),
        Portion("empty", 0),
        Portion("news", 5),
    ]
    chosen = choose_examples(parts, 7, 3)
    assert (chosen < 10).sum() == 20 and ((chosen >= 10) & (chosen < 110)).sum() == 30
    assert sorted(chosen[chosen >= 110]) == [110, 111, 112, 113, 114]


def test_the_seed_and_the_epoch_decide_and_nothing_else() -> None:
    parts = [Portion("web", 50, 0.2)]
    assert choose_examples(parts, 1, 4).tolist() == choose_examples(parts, 1, 4).tolist()
    assert choose_examples(parts, 1, 4).tolist() != choose_examples(parts, 2, 4).tolist()
    one, two = (set(choose_examples(parts, 1, epoch).tolist()) for epoch in (0, 1))
    assert len(one) == len(two) == 10 and one.isdisjoint(two)  # both of the first round


def test_batches_hold_the_chosen_examples_and_their_lengths() -> None:
    lengths = np.arange(1, 61) % 9 + 1
    parts = (Portion("data", 20, 1.0), Portion("web", 40, 0.5))
    order = BatchOrder(lengths, lengths[::-1], 60, 5, parts)
    plan = order.plan(2)
    together = np.sort(np.concatenate(plan))
    assert together.tolist() == choose_examples(parts, 5, 2).tolist()
    for batch in plan:
        cost = len(batch) * (lengths[batch].max() + lengths[::-1][batch].max())
        assert cost <= 60 or len(batch) == 1


def test_weights_of_one_leave_the_order_as_it_was() -> None:
    lengths = np.arange(1, 61) % 9 + 1
    parts = (Portion("data", 20), Portion("web", 40))
    got = BatchOrder(lengths, lengths, 60, 5, parts).plan(1)
    expected = plan_epoch(lengths, lengths, token_budget=60, seed=5, epoch=1)
    assert [b.tolist() for b in got] == [b.tolist() for b in expected]


def test_the_end_of_an_epoch() -> None:
    lengths = np.full(30, 4)
    order = BatchOrder(lengths, lengths, 50, 1)
    whole = [(p.epoch, p.number) for p in order.of_epoch(3)]
    assert whole == [(3, i) for i in range(len(order.plan(3)))]
    assert [(p.epoch, p.number) for p in order.of_epoch(3, 2)] == whole[2:]
    assert list(order.of_epoch(3, len(whole))) == []
