"""Brackets counted by hand, and as PYEVALB counts them."""

import random

import pytest

from regard.data.brackets import BracketCounts, compare, compare_all
from regard.data.trees import Leaf, Tree, bracketed, trees_of, words_of_tree

GOLD = (
    "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (PP (IN in) (NP (NNP Rome)))) "
    "(. .))"
)


def one(text: str) -> Tree:
    (tree,) = trees_of([text])
    return tree


@pytest.mark.parametrize(
    ("output", "right", "found", "wanted"),
    [
        (GOLD, 6, 6, 6),
        # the PP in the NP: one bracket more, and all of the reference's are there
        (
            "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (NN cat)) "
            "(PP (IN in) (NP (NNP Rome))))) (. .))",
            6,
            7,
            6,
        ),
        # a wrong label, and brackets over other words
        (
            "(S (ADJP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat) (IN in) (NNP Rome))) "
            "(. .))",
            2,
            4,
            6,
        ),
        # the full stop in or out of the VP is the same
        (GOLD.replace(") (. .))", " (. .)))").replace("Rome)))) (", "Rome))) ("), 6, 6, 6),
    ],
)
def test_cases_counted_by_hand(output: str, right: int, found: int, wanted: int) -> None:
    counts = compare(one(output), one(GOLD))
    assert (counts.right, counts.found, counts.wanted) == (right, found, wanted)
    assert counts.exact == (right == found == wanted)
    assert counts.f1 == pytest.approx(2 * right / (found + wanted))


def test_a_bracket_that_stands_twice_counts_twice() -> None:
    twice = one("(S (NP (NP (NN a))) (VP (VB b)))")
    once = one("(S (NP (NN a)) (VP (VB b)))")
    assert compare(once, twice) == BracketCounts(3, 3, 4, 1, 0, 2, 2)
    assert compare(twice, once) == BracketCounts(3, 4, 3, 1, 0, 2, 2)


def test_particles_are_adverbs_and_top_is_no_bracket() -> None:
    gold = one("(TOP (S (VP (VB get) (PRT (RP up)))) (S (VP (VB go))))")
    other = one("(TOP (S (VP (VB get) (ADVP (RB up)))) (S (VP (VB go))))")
    counts = compare(other, gold)
    assert (counts.right, counts.found, counts.wanted, counts.exact) == (5, 5, 5, 1)
    assert (counts.tagged, counts.words) == (2, 3)


def test_sums_are_over_all_sentences() -> None:
    trees = [one(GOLD), one("(S (VP (VB go)))")]
    outputs = [one(GOLD), one("(FRAG (VB go))")]
    total = compare_all(outputs, trees)
    assert (total.right, total.found, total.wanted, total.sentences) == (6, 7, 8, 2)
    assert (total.precision, total.recall) == (6 / 7, 6 / 8)


def without_punctuation_and_doubles(chance: random.Random, words: list[str]) -> Tree:
    """A random tree over words, no bracket of which spans what one right under it does."""
    if len(words) == 1:
        return Tree(chance.choice("AB"), (Leaf("NN", words[0]),))
    cut = chance.randrange(1, len(words))
    parts: list[Tree | Leaf] = []
    for some in (words[:cut], words[cut:]):
        if len(some) == 1 and chance.random() < 0.7:
            parts.append(Leaf("NN", some[0]))
        else:
            parts.append(without_punctuation_and_doubles(chance, some))
    return Tree(chance.choice("AB"), tuple(parts))


def test_as_pyevalb_counts() -> None:
    """It counts brackets as a set and keeps punctuation: so trees without doubles and marks."""
    parser = pytest.importorskip("PYEVALB.parser")
    scorer = pytest.importorskip("PYEVALB.scorer").Scorer()
    chance = random.Random(1)
    for _ in range(200):
        words = [f"w{n}" for n in range(chance.randrange(2, 12))]
        gold, output = (without_punctuation_and_doubles(chance, words) for _ in range(2))
        assert words_of_tree(gold) == words
        theirs = scorer.score_trees(
            parser.create_from_bracket_string(bracketed(gold)),
            parser.create_from_bracket_string(bracketed(output)),
        )
        ours = compare(output, gold)
        assert ours.right == theirs.matched_brackets
        assert (ours.found, ours.wanted) == (theirs.test_brackets, theirs.gold_brackets)
        assert (ours.precision, ours.recall) == pytest.approx((theirs.prec, theirs.recall))
