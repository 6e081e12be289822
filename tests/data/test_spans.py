"""Spans that are taken out: a sentence worked by hand, counts, and chance that can be had again."""

import numpy as np
import pytest

from regard.data.spans import SpanCorruption

SENTINELS = (1000, 1001, 1002, 1003)


def test_a_sentence_worked_by_hand() -> None:
    """Twenty tokens, a quarter hidden in spans of 2.5: five tokens in two spans."""
    corrupt = SpanCorruption(SENTINELS, share=0.25, span=2.5)
    text = list(range(20))
    source, target = corrupt(text, (1, 0, 0))
    # Fifteen are kept in two parts, five are hidden in two; so each ends where the other begins.
    first, second = source.index(1000), source.index(1001)
    gap = target.index(1001)
    assert source == [*range(first), 1000, *range(first + gap - 1, second + gap - 2), 1001]
    assert target == [1000, *range(first, first + gap - 1), 1001, *range(second + gap - 2, 20)]
    assert (len(source), len(target)) == (15 + 2, 5 + 2)


def test_where_there_is_one_way_only() -> None:
    """Two of four tokens in two spans: every other one, whatever is drawn."""
    assert SpanCorruption(SENTINELS)([7, 8], (1,)) == ([7, 1000], [1000, 8])
    alternate = SpanCorruption(SENTINELS, share=0.5, span=1.0)
    assert alternate([5, 6, 7, 8], (1,)) == ([5, 1000, 7, 1001], [1000, 6, 1001, 8])


@pytest.mark.parametrize(
    ("tokens", "hidden", "spans"),
    [(2, 1, 1), (6, 1, 1), (10, 2, 1), (20, 3, 1), (40, 6, 2), (100, 15, 4), (512, 77, 4)],
)
def test_counts_follow_from_the_length(tokens: int, hidden: int, spans: int) -> None:
    """15 %, a third of that in spans, and never more spans than sentinels."""
    corrupt = SpanCorruption(SENTINELS)
    counted = corrupt.counts(np.array([tokens]))
    assert [int(n[0]) for n in counted] == [hidden, spans]
    source, target = corrupt(list(range(tokens)), (3,))
    lengths = corrupt.lengths(np.array([tokens]))
    assert [int(n[0]) for n in lengths] == [len(source), len(target)]


def put_back(source: list[int], target: list[int]) -> list[int]:
    """The text that a source and its target came from."""
    behind: dict[int, list[int]] = {}
    for token in target:
        if token in SENTINELS:
            last = behind[token] = []
        else:
            last.append(token)
    return [t for token in source for t in behind.get(token, [token])]


def test_nothing_is_lost_and_every_place_but_the_first_is_hidden_alike() -> None:
    corrupt, tokens, draws = SpanCorruption(SENTINELS), 40, 4000
    text = list(range(tokens))
    hidden, sizes = np.zeros(tokens), []
    for number in range(draws):
        source, target = corrupt(text, (1, 2, number))
        assert put_back(source, target) == text
        gone = [token for token in target if token < 1000]
        hidden[gone] += 1
        places = [i for i, token in enumerate(target) if token >= 1000]
        sizes += [int(n) - 1 for n in np.diff([*places, len(target)])]
    assert hidden.sum() / (tokens * draws) == pytest.approx(6 / 40)
    assert np.mean(sizes) == pytest.approx(3.0)
    # Six tokens in two parts: 1 to 5, each as often.
    shares = np.bincount(sizes)[1:] / len(sizes)
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.02)
    assert hidden[0] == 0 and hidden[-1] == draws  # as in the authors' code


def test_the_same_numbers_draw_the_same() -> None:
    corrupt, text = SpanCorruption(SENTINELS), list(range(60))
    assert corrupt(text, (1, 0, 5)) == corrupt(text, (1, 0, 5))
    drawn = {str(corrupt(text, chance)) for chance in ((1, 0, 5), (1, 1, 5), (1, 0, 6), (2, 0, 5))}
    assert len(drawn) == 4
