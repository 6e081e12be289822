"""Batches by token budget: every example once, within budget, little padding, resumable."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from regard.data.buckets import BatchOrder, padding_share, plan_epoch
from regard.errors import MisuseError


def sentences(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths as in a corpus: mostly 10 to 40 tokens, the two sides alike but not equal."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.lognormal(3.0, 0.6, n), 1, 200).astype(np.int32)
    target = np.clip(source * rng.lognormal(0.05, 0.25, n), 1, 250).astype(np.int32)
    return source, target


lengths = st.lists(st.tuples(st.integers(1, 61), st.integers(0, 61)), max_size=80)


@given(lengths, st.integers(1, 300), st.integers(0, 2**64), st.integers(0, 5))
def test_every_example_once_and_within_the_budget(
    pairs: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    source = np.array([s for s, _ in pairs], dtype=np.int32)
    target = np.array([t for _, t in pairs], dtype=np.int32)
    plan = plan_epoch(source, target, token_budget=budget, seed=seed, epoch=epoch)
    assert sorted(i for batch in plan for i in batch.tolist()) == list(range(len(pairs)))
    for batch in plan:
        cost = len(batch) * (source[batch].max() + target[batch].max())
        assert cost <= budget or len(batch) == 1


def test_a_budget_worked_out_by_hand() -> None:
    five = np.array([5, 5, 5, 5, 5])  # 5 source and 5 target places: 10 a row
    sizes = sorted(len(b) for b in plan_epoch(five, five, token_budget=20, seed=0, epoch=0))
    assert sizes == [1, 2, 2]
    sizes = sorted(len(b) for b in plan_epoch(five, five, token_budget=19, seed=0, epoch=0))
    assert sizes == [1, 1, 1, 1, 1]


def test_padding_worked_out_by_hand() -> None:
    source, target = np.array([2, 4]), np.array([3, 3])
    # rows of 2 + 3 and 4 + 3 places; together 2 × (4 + 3) = 14, of which 12 are real
    assert padding_share([np.array([0, 1])], source, target) == pytest.approx(2 / 14)
    assert padding_share([np.array([0]), np.array([1])], source, target) == 0
    assert padding_share([], source, target) == 0


@pytest.mark.parametrize(("n", "budget", "most"), [(20_000, 4000, 0.10), (100_000, 25_000, 0.11)])
def test_little_is_padding(n: int, budget: int, most: float) -> None:
    source, target = sentences(n)
    plan = plan_epoch(source, target, token_budget=budget, seed=1, epoch=0)
    assert padding_share(plan, source, target) < most
    unsorted = np.array_split(np.arange(n), len(plan))
    assert padding_share(unsorted, source, target) > 0.5  # what it saves


def as_tuples(plan: list[np.ndarray]) -> list[tuple[int, ...]]:
    return [tuple(batch.tolist()) for batch in plan]


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    source, target = sentences(500)

    def plan(seed: int, epoch: int) -> list[tuple[int, ...]]:
        return as_tuples(plan_epoch(source, target, token_budget=600, seed=seed, epoch=epoch))

    assert plan(1, 2) == plan(1, 2)
    for other in (plan(1, 3), plan(2, 2), plan(2, 1)):
        assert plan(1, 2) != other
        shared = set(map(frozenset, plan(1, 2))) & set(map(frozenset, other))
        assert len(shared) < 0.1 * len(other)  # other company, not only another order


def test_the_order_never_changes_between_versions() -> None:
    """A run must resume in the same order after an update: these batches are for ever."""
    lengths = np.array([4, 10, 5, 9, 6, 8, 7, 3])
    plan = plan_epoch(lengths, lengths[::-1], token_budget=40, seed=7, epoch=3)
    assert as_tuples(plan) == [(4, 2), (7, 6), (0, 5), (3, 1)]


def test_batches_come_in_random_order_of_length() -> None:
    source, target = sentences(20_000)
    plan = plan_epoch(source, target, token_budget=2000, seed=0, epoch=0)
    widths = np.array([source[batch].max() for batch in plan])
    assert abs(np.corrcoef(widths[:-1], widths[1:])[0, 1]) < 0.2


def test_training_goes_on_from_any_place() -> None:
    source, target = sentences(60)
    order = BatchOrder(source, target, token_budget=300, seed=5)
    whole = list(islice(order.start_at(), 60))
    first = len(order.plan(0))
    assert [(s.epoch, s.number) for s in whole[first - 1 : first + 2]] == [
        (0, first - 1),
        (1, 0),
        (1, 1),
    ]
    for k in (0, 3, first - 1, first, first + 1):
        epoch, number, _ = whole[k]
        again = list(islice(order.start_at(epoch, number), 5))
        assert as_tuples([s.examples for s in again]) == as_tuples(
            [s.examples for s in whole[k : k + 5]]
        )
    assert next(order.start_at(0, first))[:2] == (1, 0)  # saved after the last batch of an epoch


def test_misuse_is_explained() -> None:
    source, target = sentences(20)
    with refused(MisuseError, problem="got number 999"):
        BatchOrder(source, target, token_budget=300, seed=5).start_at(0, 999)
    with refused(MisuseError, problem="token budget 0"):
        plan_epoch(source, target, token_budget=0, seed=0, epoch=0)
    with refused(MisuseError, problem="no examples"):
        BatchOrder(source[:0], target[:0], token_budget=300, seed=5).start_at()


def test_a_million_pairs_are_planned() -> None:
    source, target = sentences(1_000_000)
    plan = plan_epoch(source, target, token_budget=25_000, seed=0, epoch=0)
    assert sum(len(batch) for batch in plan) == 1_000_000
