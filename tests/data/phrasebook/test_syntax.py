"""The trees of the phrasebook: what a person draws, and every word of every sentence."""

import pytest

from regard.data.phrasebook.corpus import phrasebook, trees_of_sentences
from regard.data.trees import Tree, bracketed, leaves, words_of_tree
from regard.text.words import split_words

# Drawn by hand. Clauses, attachments and forms that a right-branching tree would miss.
BY_HAND = {
    "The animal didn't cross the street because it was too tired.": (
        "(S (NP (DT The) (NN animal)) (VP (AUX didn't) (VP (VB cross) (NP (DT the) (NN street)) "
        "(SBAR (IN because) (S (NP (PRP it)) (VP (AUX was) (ADJP (RB too) (JJ tired))))))) (. .))"
    ),
    "The cat sat.": "(S (NP (DT The) (NN cat)) (VP (VB sat)) (. .))",
    "How are you?": "(SBARQ (WHADVP (WRB How)) (SQ (AUX are) (NP (PRP you))) (. ?))",
    "The man saw the astronomer with a telescope.": (
        "(S (NP (DT The) (NN man)) (VP (VB saw) (NP (DT the) (NN astronomer)) (PP (IN with) "
        "(NP (DT a) (NN telescope)))) (. .))"
    ),
    "It is a piece of cake.": (
        "(S (NP (PRP It)) (VP (AUX is) (NP (NP (DT a) (NN piece)) (PP (IN of) (NP (NN cake))))) "
        "(. .))"
    ),
}
LABELS = {
    "S", "NP", "VP", "PP", "SBAR", "ADJP", "ADVP", "SQ", "SBARQ", "WHNP", "WHADVP", "WHADJP",
    "WHPP", "PRT", "INTJ", "FRAG", "TOP",
}  # fmt: skip


@pytest.mark.parametrize("source", BY_HAND)
def test_trees_that_a_person_draws(source: str) -> None:
    place = [entry.source for entry in phrasebook()].index(source)
    assert bracketed(trees_of_sentences()[place]) == BY_HAND[source]


@pytest.mark.parametrize("language", ["de", "hi"])
def test_every_sentence_has_a_tree_over_its_words(language: str) -> None:
    labels, right_branching = set[str](), 0
    trees = trees_of_sentences(language)
    for entry, tree in zip(phrasebook(language), trees, strict=True):
        assert words_of_tree(tree) == split_words(entry.source)
        labels |= set(_labels(tree))
        right_branching += _is_right_branching(tree)
    assert labels == LABELS
    assert right_branching / len(trees) < 0.02


def _labels(tree: Tree) -> list[str]:
    found = [tree.label]
    for child in tree.children:
        found += _labels(child) if isinstance(child, Tree) else []
    return found


def _is_right_branching(tree: Tree) -> bool:
    """Whether every bracket but the last of its row holds one word, as far as there are three."""
    if len(leaves(tree)) < 4:
        return False
    firsts = tree.children[:-1]
    if any(isinstance(child, Tree) and len(leaves(child)) > 1 for child in firsts):
        return False
    last = tree.children[-1]
    return isinstance(last, Tree) and (len(leaves(last)) < 4 or _is_right_branching(last))
