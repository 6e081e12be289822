"""Few labels: what is drawn, and which pairs are made of it."""

from collections import Counter

from regard.data.label_pairs import few_of_each, label_pairs
from regard.data.labelled import Labelled

ROWS = [Labelled(f"text {n}", None, ("ab"[n % 2],), n) for n in range(60)]


def test_few_are_drawn_by_text_and_seed() -> None:
    drawn = few_of_each(ROWS, 3, seed=1)
    assert Counter(row.labels[0] for row in drawn) == {"a": 3, "b": 3}
    assert [row.line for row in drawn] == sorted(row.line for row in drawn)
    assert {row.text for row in few_of_each(ROWS[::-1], 3, seed=1)} == {row.text for row in drawn}
    assert few_of_each(ROWS, 3, seed=2) != drawn
    assert few_of_each(ROWS, 100, seed=1) == ROWS


def test_half_of_the_pairs_share_their_label() -> None:
    rows = few_of_each(ROWS, 4, seed=1)
    label = {row.text: row.labels for row in ROWS}
    pairs = list(label_pairs(rows, 5, seed=3, alike="1.0", apart="0.0"))
    assert len(pairs) == 2 * 5 * len(rows)
    for pair in pairs:
        assert pair.pair is not None and pair.pair != pair.text
        assert (label[pair.text] == label[pair.pair]) == (pair.labels == ("1.0",))
    assert Counter(pair.labels for pair in pairs) == {("1.0",): 40, ("0.0",): 40}
    assert pairs == list(label_pairs(rows, 5, seed=3, alike="1.0", apart="0.0"))
    assert pairs != list(label_pairs(rows, 5, seed=4, alike="1.0", apart="0.0"))
    alone = [*rows[:1], Labelled("z", None, ("c",), 99)]  # no partner of its own label
    assert {pair.labels for pair in label_pairs(alone, 2, 1, "1", "0")} == {("0",)}
