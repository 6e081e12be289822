"""Trees of a treebank: F1 of right-branching, of a grammar that is counted, and of runs of regard.

    make bench-parse RUN=runs/treebank
    python bench/parse.py --run runs/treebank

right-branching  every bracket opens before a word and closes at the end; S outside, VP inside, and
                 the last punctuation beside the outermost: what English looks like without learning
PCFG             rules and their probabilities counted in the training trees (NLTK's induce_pcfg, on
                 trees that NLTK has made binary: siblings remember one neighbour); words seen once
                 are known by their look; the likeliest tree by regard/data/cky.py
regard           the run, as `regard evaluate` asks it

All are compared on the test sentences of at most `--longest` words (EVALB's brackets, no traces, no
functions), labelled and unlabelled: the PCFG takes the cube of a sentence's length.
"""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from needs import folder_of_set, insist_on_libraries, say, stop_without

from regard.data.brackets import PUNCTUATION, BracketCounts, compare
from regard.data.cky import Nested, WeightedGrammar, WeightedRule
from regard.data.trees import (
    Leaf,
    Tree,
    bracketed,
    cleaned,
    leaves,
    read_trees,
    trees_of,
    words_of_tree,
)

TRAIN, TEST = slice(0, 3522), slice(3718, 3914)
RARE = 1  # words that occur so often or less are known by their look
START = "TOP"
Parser = Callable[[Tree], Tree]


def right_branching(tree: Tree) -> Tree:
    """The same words; their tags are taken for its last punctuation alone."""
    words = leaves(tree)
    last = [words.pop()] if len(words) > 1 and words[-1].tag in PUNCTUATION else []
    inner: Tree | Leaf = words[-1] if len(words) == 1 else Tree("VP", (words[-1],))
    for leaf in reversed(words[:-1]):
        inner = Tree("VP", (leaf, inner))
    parts = inner.children if isinstance(inner, Tree) else (inner,)
    return Tree("S", (*parts, *last))


def look(word: str) -> str:
    """What is seen of a word that nobody knows."""
    shape = "digit" if any(sign.isdigit() for sign in word) else ""
    shape = shape or ("capital" if word[:1].isupper() else "hyphen" if "-" in word else "small")
    ending = word[-2:].lower() if shape in ("small", "capital") and len(word) > 4 else ""
    return f"<{shape} {ending}>"


class Pcfg:
    """A probabilistic grammar out of trees, and the likeliest tree by it."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        import nltk

        seen = Counter(word for tree in trees for word in words_of_tree(tree))
        self.known = {word for word, count in seen.items() if count > RARE}
        productions = []
        for tree in trees:
            theirs = nltk.Tree.fromstring(f"({START} {bracketed(self._as_known(tree))})")
            theirs.collapse_unary(collapsePOS=False)
            theirs.chomsky_normal_form(horzMarkov=1)
            productions += theirs.productions()
        induced = nltk.induce_pcfg(nltk.Nonterminal(START), productions)
        self.words: dict[str, dict[str, float]] = {}
        rules = []
        for one in induced.productions():
            left, right, weight = str(one.lhs()), one.rhs(), math.log(one.prob())
            if isinstance(right[0], str):
                self.words.setdefault(right[0], {})[left] = weight
            else:
                rules.append(WeightedRule(left, tuple(map(str, right)), weight))
        self.rules = len(rules)
        every_tag = {tag for row in self.words.values() for tag in row}
        self._grammar = WeightedGrammar(rules, START, sorted(every_tag))
        tags = Counter(leaf.tag for tree in trees for leaf in leaves(tree))
        total = sum(tags.values())
        self._any = {tag: math.log(count / total) - 10 for tag, count in tags.items()}

    def _spelled(self, word: str) -> str:
        return word if word in self.known else look(word)

    def _as_known(self, part: Any) -> Any:
        if isinstance(part, Leaf):
            word = self._spelled(part.word)
            return Leaf(part.tag, word.replace(" ", "_"))
        return Tree(part.label, tuple(map(self._as_known, part.children)))

    def __call__(self, tree: Tree) -> Tree:
        words = words_of_tree(tree)
        spelled = (self._spelled(word).replace(" ", "_") for word in words)
        rows = [self.words.get(_bracket_free(one), self._any) for one in spelled]
        found = self._grammar.parse(self._grammar.words(rows))
        if found is None:
            return Tree("S", tuple(Leaf("NN", word) for word in words))
        (whole,) = _parts(found[0], words)
        assert isinstance(whole, Tree)
        return whole


def _bracket_free(word: str) -> str:
    """As it stands in a bracket file, which NLTK has read."""
    inside = bracketed(Leaf("X", word))
    return inside[3:-1]


def _parts(nested: Nested, words: Sequence[str]) -> list[Tree | Leaf]:
    """Brackets again: those that were made to have two parts go, joined ones are parted."""
    assert not isinstance(nested, int)
    name, inner = nested
    if isinstance(inner[0], int):
        return [_chain(name, Leaf(name.split("+")[-1], words[inner[0]]))]
    parts = [part for each in inner for part in _parts(each, words)]
    if "|" in name:
        return parts
    if name == START:
        return parts if len(parts) == 1 else [Tree("S", tuple(parts))]
    labels = name.split("+")
    tree = Tree(labels[-1], tuple(parts))
    for label in reversed(labels[:-1]):
        tree = Tree(label, (tree,))
    return [tree]


def _chain(name: str, leaf: Leaf) -> Tree | Leaf:
    part: Tree | Leaf = leaf
    for label in reversed(name.split("+")[:-1]):
        part = Tree(label, (part,))
    return part


def by_run(folder: Path) -> Callable[[Sequence[Tree]], list[Tree]]:
    """What a run makes of the words of each tree."""
    from regard import load

    model = load(folder)
    return lambda trees: [parse.tree for parse in model.parse([words_of_tree(t) for t in trees])]


def figures(outputs: Sequence[Tree], trees: Sequence[Tree], seconds: float) -> dict[str, float]:
    """Shares, and seconds a sentence."""
    labelled, bare = BracketCounts(), BracketCounts()
    well_formed = 0
    for output, tree in zip(outputs, trees, strict=True):
        labelled += compare(output, tree)
        bare += compare(output, tree, labelled=False)
        (again,) = trees_of([bracketed(output)])
        well_formed += words_of_tree(again) == words_of_tree(tree)
    return {
        "f1": labelled.f1,
        "precision": labelled.precision,
        "recall": labelled.recall,
        "unlabelled": bare.f1,
        "exact": labelled.exact / labelled.sentences,
        "well_formed": well_formed / labelled.sentences,
        "seconds": seconds / labelled.sentences,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, default=folder_of_set("treebank") / "ptb_sample.mrg")
    parser.add_argument("--run", type=Path, action="append", default=[], help="of recipe treebank")
    parser.add_argument("--longest", type=int, default=40, help="words of a test sentence")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    insist_on_libraries(["nltk"])
    stop_without(given.file, "treebank", "--file")
    trees = [tree for tree in map(cleaned, read_trees(given.file)) if tree is not None]
    test = [tree for tree in trees[TEST] if len(leaves(tree)) <= given.longest]
    say(f"{len(test)} of {len(trees[TEST])} test sentences have at most {given.longest} words")
    counted = Pcfg(trees[TRAIN])
    say(f"the grammar has {counted.rules:,} rules")
    ways: dict[str, Callable[[Sequence[Tree]], list[Tree]]] = {
        "right-branching": lambda given: list(map(right_branching, given)),
        "PCFG, counted": lambda given: list(map(counted, given)),
        **{f"regard, {folder.name}": by_run(folder) for folder in given.run},
    }
    found = {}
    for name, way in ways.items():
        begun = time.perf_counter()
        outputs = way(test)
        found[name] = figures(outputs, test, time.perf_counter() - begun)
        say(f"{name}: F1 {found[name]['f1']:.2%}")
    if given.json:
        print(json.dumps({"sentences": len(test), "longest": given.longest, "ways": found}))
        return
    print(f"{len(test)} test sentences of at most {given.longest} words")
    heads = f"{'F1':>7} {'prec.':>7} {'recall':>7} {'no labels':>9} {'exact':>7} {'s each':>8}"
    print(f"{'':<24} {heads}")
    for name, row in found.items():
        shares = (row[key] for key in ("f1", "precision", "recall"))
        print(
            f"{name:<24} {' '.join(f'{100 * share:7.2f}' for share in shares)} "
            f"{100 * row['unlabelled']:9.2f} {100 * row['exact']:7.2f} {row['seconds']:8.3f}"
        )


if __name__ == "__main__":
    main()
