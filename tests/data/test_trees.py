"""Trees: brackets in and out, as NLTK reads them; signs there and back; columns; bad files."""

import gzip
import random
from pathlib import Path

import pytest

from refusals import refused
from regard.data.tree_columns import in_columns, read_columns
from regard.data.trees import (
    MOST_DEPTH,
    MOST_WORDS,
    Leaf,
    Tree,
    bracketed,
    cleaned,
    linearised,
    on_lines,
    read_trees,
    rebuilt,
    trees_of,
    words_of_tree,
)
from regard.datasets.find import find
from regard.datasets.table import named
from regard.errors import DataError

TRACED = """( (S
    (NP-SBJ-1 (DT The) (NN dog) )
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )
        (PP-LOC=2 (IN in)
          (NP (-LRB- -LRB-) (CD 1\\/2) (ADVP|PRT (RB up)) (-RRB- -RRB-) ))))
    (. .) ))
"""
CLEAN = (
    "(S (NP (DT The) (NN dog)) (VP (VBD was) (VP (VBN seen) (PP (IN in) "
    "(NP (-LRB- -LRB-) (CD 1/2) (ADVP (RB up)) (-RRB- -RRB-))))) (. .))"
)


def one(text: str) -> Tree:
    (tree,) = trees_of(text.splitlines())
    return tree


def random_tree(chance: random.Random, depth: int = 0) -> Tree:
    parts: list[Tree | Leaf] = []
    for number in range(chance.randrange(1, 4)):
        if depth < 6 and chance.random() < 0.5:
            parts.append(random_tree(chance, depth + 1))
        else:
            word = chance.choice(["a", "(", ")", "it's", "東京", "1.5", "**"])
            parts.append(Leaf(chance.choice(["NN", "DT", ",", "PRP$"]), f"{word}"))
        assert number < 4
    return Tree(chance.choice(["S", "NP", "VP"]), tuple(parts))


def test_traces_and_functions_go() -> None:
    tree = cleaned(one(TRACED))
    assert tree is not None and bracketed(tree) == CLEAN
    assert words_of_tree(tree) == ["The", "dog", "was", "seen", "in", "(", "1/2", "up", ")", "."]
    assert one(CLEAN) == tree == one(on_lines(tree))


def test_what_holds_only_empty_words_is_nothing() -> None:
    assert cleaned(one("(S (NP (-NONE- *)))")) is None
    kept = cleaned(one("(S (NP (NP (-NONE- *)) (NN x)))"))
    assert kept == Tree("S", (Tree("NP", (Leaf("NN", "x"),)),))


def test_signs_of_a_tree_drawn_by_hand() -> None:
    tree = one("(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))")
    signs = ["(S", "(NP", "DT", "NN", ")", "(VP", "VBZ", ")", ".", ")"]
    assert linearised(tree) == signs
    assert rebuilt(signs, ["The", "dog", "sleeps", "."]) == tree


def test_random_trees_come_back() -> None:
    chance = random.Random(1)
    for _ in range(200):
        tree = random_tree(chance)
        assert one(bracketed(tree)) == tree
        assert one(on_lines(tree)) == tree
        assert rebuilt(linearised(tree), words_of_tree(tree)) == tree


@pytest.mark.parametrize(
    ("signs", "words", "problem"),
    [
        ("(S NN )", "", "more signs than the 0 words"),
        ("(S NN )", "a b", "signs or words are left"),
        ("(S NN ) NN", "a b", "signs or words are left"),
        ("(S NN", "a", "not closed"),
        ("NN )", "a", "stands outside"),
        ("(S )", "", "nothing in the brackets of S"),
    ],
)
def test_signs_that_are_no_tree(signs: str, words: str, problem: str) -> None:
    with refused(DataError, problem=problem):
        rebuilt(signs.split(), words.split())


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("(S (NN a)\n", 1, "never closed"),
        ("(S (NN a)))\n", 1, "outside of brackets"),
        ("(S (NN a))\nword\n", 2, "outside of brackets"),
        ("(S (NN a b))", 1, "the word 'b' has no tag"),
        ("(S (NN a) b)", 1, "the word 'b' has no tag"),
        ("(S (NN))", 1, "no word in them"),
        ("()", 1, "no word in them"),
        ("(NN a)", 1, "a word alone"),
        ("(S (NN a (DT b)))", 1, "behind a word and its tag"),
        ("(" * (MOST_DEPTH + 1), 1, f"more than {MOST_DEPTH} brackets"),
        (f"(S {'(NN a) ' * (MOST_WORDS + 1)})", 1, f"more than {MOST_WORDS:,} words"),
        (f"(S (NN {'a' * 201}))", 1, "a name of 201 characters"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, line: int, problem: str) -> None:
    (tmp_path / "bad.mrg").write_text(text)
    with refused(DataError, subject=f"bad.mrg, line {line}", problem=problem):
        read_trees(tmp_path / "bad.mrg")


def test_empty_missing_and_binary_files(tmp_path: Path) -> None:
    (tmp_path / "empty.mrg").write_text("\n\n")
    with refused(DataError, problem="no tree in it"):
        read_trees(tmp_path / "empty.mrg")
    with refused(DataError, problem="no such file"):
        read_trees(tmp_path / "none.mrg")
    (tmp_path / "binary.mrg").write_bytes(b"(S (NN \xff\xfe))\n")
    with refused(DataError, subject="binary.mrg, line 1", problem="invalid UTF-8"):
        read_trees(tmp_path / "binary.mrg")


def test_a_packed_file_and_many_trees_a_line(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg.gz"
    path.write_bytes(gzip.compress(f"{CLEAN}{CLEAN}\n(TOP (S (NN a)) (S (NN b)))".encode()))
    trees = read_trees(path)
    assert len(trees) == 3 and trees[0] == trees[1]
    assert trees[2].label == "TOP" and words_of_tree(trees[2]) == ["a", "b"]


def test_columns_as_conll_has_them(tmp_path: Path) -> None:
    tree = one("(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))")
    by_hand = "The\tDT\t(S(NP*\ncat\tNN\t*)\nsat\tVBD\t(VP*)\n.\t.\t*)\n"
    assert in_columns(tree) == by_hand
    other = one(CLEAN)
    path = tmp_path / "trees.conll"
    path.write_text(f"# a comment\n{by_hand}\n{in_columns(other)}")
    assert read_columns(path) == [words_of_tree(tree), words_of_tree(other)]


def test_all_of_the_treebank_as_nltk_reads_it() -> None:
    """It has a reader of its own; where the set is on this machine."""
    util = pytest.importorskip("nltk.corpus.reader.util")
    theirs_of = pytest.importorskip("nltk.tree").Tree.fromstring
    folder = find(named("treebank"))
    if folder is None:
        pytest.skip("the data set treebank is not on this machine")
    path = folder / "ptb_sample.mrg"
    trees = read_trees(path)
    assert len(trees) == 3914
    number = 0
    with path.open(encoding="utf-8") as file:
        while blocks := util.read_sexpr_block(file):
            for block in blocks:
                theirs = theirs_of(block, remove_empty_top_bracketing=True)
                written = " ".join(theirs.pformat(margin=10**9).split())
                assert written.replace("\\/", "/") == bracketed(trees[number])
                number += 1
    assert number == len(trees)
