"""The benchmark of parsers: what it is measured beside is what it says."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from regard.data.brackets import compare
from regard.data.trees import bracketed, trees_of

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bench/parse.py, which imports its neighbours by name."""
    monkeypatch.syspath_prepend(BENCH)
    spec = importlib.util.spec_from_file_location("bench_parse", BENCH / "parse.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_parse", module)
    spec.loader.exec_module(module)
    return module


def test_right_branching_by_hand(bench: ModuleType) -> None:
    (tree,) = trees_of(["(S (NP (DT the) (NN cat)) (VP (VBD sat) (ADVP (RB here))) (. .))"])
    expected = "(S (DT the) (VP (NN cat) (VP (VBD sat) (VP (RB here)))) (. .))"
    output = bench.right_branching(tree)
    assert bracketed(output) == expected
    # of S(0,4) VP(1,4) VP(2,4) VP(3,4), the S and VP(2,4) are right; the tree has 4 brackets too
    counts = compare(output, tree)
    assert (counts.right, counts.found, counts.wanted) == (2, 4, 4)


def test_a_grammar_out_of_two_trees(bench: ModuleType) -> None:
    """Words and rules are counted; what it has seen it finds again, with the product of shares."""
    pytest.importorskip("nltk")
    texts = [
        "(S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))",
        "(S (NP (DT the) (NN mat)) (VP (VBD sat)) (. .))",
        "(S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .))",
    ]
    trees = list(trees_of(texts))
    grammar = bench.Pcfg(trees)
    for tree in trees:
        assert bracketed(grammar(tree)) == bracketed(tree)
    assert math.exp(grammar.words["cat"]["NN"]) == pytest.approx(2 / 4)
    assert grammar.words["sat"] == {"VBD": 0.0}
    (odd,) = trees_of(["(S (NP (DT the) (NN Xylophone)) (VP (VBD sat)) (. .))"])
    assert bracketed(grammar(odd)).count("(") >= 5
