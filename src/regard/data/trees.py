"""Constituency trees: bracket files as the Penn Treebank has them, in and out; trees as signs.

    ( (S (NP-SBJ (DT The) (NN dog)) (VP (VBZ sleeps) (NP (-NONE- *))) (. .)) )

A leaf is a tag and a word, a tree a label over leaves and trees. The outermost brackets, which have
no label (or TOP or ROOT), are no tree. `cleaned` takes away what parsers are not asked for: empty
words (-NONE-) and what stands above nothing else, and the functions behind a label (NP-SBJ, NP=2).

A tree and its words are one; a tree without them is a line of signs, in the order in which a pen
would write it (`linearised`; `rebuilt` is the way back):

    (S  (NP  DT  NN  )  (VP  VBZ  )  .  )        and the words: The dog sleeps .

Files are a stranger's: depth, words and length of a name are bounded, and nothing recurses deeper
than MOST_DEPTH. The brackets of a text are -LRB- and -RRB- in such a file, and brackets here.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.lines import Problem, decoded, find_file, read_lines
from regard.errors import DataError, shown

MOST_DEPTH = 100  # brackets in brackets: the Penn Treebank has 30
MOST_WORDS = 2000  # of a tree
MOST_NAME = 200  # characters of a label, a tag or a word
MOST_LINE = 1 << 20  # characters
CLOSE = ")"
EMPTY = "-NONE-"
OUTERMOST = ("", "TOP", "ROOT")
# How a bracket file spells what would be a bracket of its own.
SPELLINGS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip
_SPELLED = {sign: name for name, sign in SPELLINGS.items()}
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class Leaf:
    """A word and its tag."""

    tag: str
    word: str


@dataclass(frozen=True)
class Tree:
    """A label over what it spans."""

    label: str
    children: tuple["Tree | Leaf", ...]


def leaves(tree: Tree) -> list[Leaf]:
    """The words with their tags, in order."""
    found: list[Leaf] = []
    for child in tree.children:
        found += [child] if isinstance(child, Leaf) else leaves(child)
    return found


def words_of_tree(tree: Tree) -> list[str]:
    """The words alone."""
    return [leaf.word for leaf in leaves(tree)]


def read_trees(path: Path) -> list[Tree]:
    """The trees of a bracket file, gzipped or not, as they stand there; an error names the line."""
    find_file(path)
    trees = list(trees_of(_texts(path), str(path)))
    if not trees:
        raise DataError(path, "no tree in it", expected="brackets: (S (NP (DT The) (NN cat)) …)")
    return trees


def _texts(path: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(path, MOST_LINE), start=1):
        text = decoded(line)
        if isinstance(text, Problem):
            raise DataError(f"{path}, line {number}", str(text), expected="a bracket file")
        yield text


def trees_of(lines: Iterable[str], where: str = "brackets") -> Iterator[Tree]:
    """Each tree as soon as its last bracket is read."""
    reader = _Reader(where)
    for number, line in enumerate(lines, start=1):
        for token in _TOKEN.findall(line):
            tree = reader.take(token, number)
            if tree is not None:
                yield tree
    reader.finish()


class _Reader:
    """Brackets that are open: of each its label, what is in it so far, and its line."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._open: list[tuple[list[str], list[Tree | Leaf], int]] = []
        self._words = 0

    def take(self, token: str, number: int) -> Tree | None:
        """The tree that this token ends."""
        if token == "(":
            self._open.append(([], [], number))
            if len(self._open) > MOST_DEPTH:
                raise self._error(number, f"more than {MOST_DEPTH} brackets in brackets")
            return None
        if not self._open:
            raise self._error(number, f"{shown(token)} outside of brackets")
        names, children, begun = self._open[-1]
        if token != CLOSE:
            if len(token) > MOST_NAME:
                raise self._error(number, f"a name of {len(token):,} characters")
            if children or len(names) == 2:
                problem = f"the word {shown(token)} has no tag"
                raise self._error(number, problem, "a tag and a word in brackets: (NN dog)")
            names.append(token)
            return None
        self._open.pop()
        done = self._done(names, children, number)
        if self._open:
            if len(self._open[-1][0]) == 2:
                raise self._error(begun, "brackets behind a word and its tag")
            self._open[-1][1].append(done)
            return None
        self._words = 0
        if isinstance(done, Leaf):
            raise self._error(number, f"a word alone: {shown(done.word)}", "a tree")
        return done

    def _done(self, names: list[str], children: list[Tree | Leaf], number: int) -> Tree | Leaf:
        if len(names) == 2:
            self._words += 1
            if self._words > MOST_WORDS:
                raise self._error(number, f"more than {MOST_WORDS:,} words in a tree")
            return Leaf(names[0], SPELLINGS.get(names[1], names[1]).replace("\\/", "/"))
        if not children:
            raise self._error(number, "brackets with no word in them")
        label = names[0] if names else ""
        if label in OUTERMOST and not self._open and len(children) == 1:
            only = children[0]
            return only if isinstance(only, Tree) else Tree("TOP", (only,))
        return Tree(label or "TOP", tuple(children))

    def finish(self) -> None:
        """Nothing may be left open."""
        if self._open:
            begun = self._open[0][2]
            raise self._error(begun, f"{len(self._open)} brackets from here on are never closed")

    def _error(self, number: int, problem: str, expected: str = "") -> DataError:
        return DataError(f"{self._where}, line {number}", problem, expected=expected)


def cleaned(tree: Tree) -> Tree | None:
    """Without empty words and without the functions of labels; None where no word is left."""
    children: list[Tree | Leaf] = []
    for child in tree.children:
        if isinstance(child, Leaf):
            if child.tag != EMPTY:
                children.append(Leaf(plain(child.tag), child.word))
        elif (kept := cleaned(child)) is not None:
            children.append(kept)
    return Tree(plain(tree.label), tuple(children)) if children else None


def plain(label: str) -> str:
    """A label without its functions: NP-SBJ-1 and NP=2 are NP, ADVP|PRT is ADVP; -LRB- stays.

    >>> plain("NP-SBJ-1"), plain("PP=2"), plain("-LRB-"), plain("PRP$")
    ('NP', 'PP', '-LRB-', 'PRP$')
    """
    return re.split(r"[-=|]", label)[0] or label


def linearised(tree: Tree) -> list[str]:
    """The signs of a tree: (LABEL, the tag of each word in its place, and ) for each end."""
    signs = [f"({tree.label}"]
    for child in tree.children:
        signs += [child.tag] if isinstance(child, Leaf) else linearised(child)
    return [*signs, CLOSE]


def rebuilt(signs: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree of these signs over these words; an error where they are none."""
    rest, inner = iter(words), list[tuple[str, list[Tree | Leaf]]]()
    for place, sign in enumerate(signs):
        if sign.startswith("(") and len(sign) > 1:
            inner.append((sign[1:], []))
        elif not inner:
            raise DataError("tree", f"sign {place + 1} stands outside of brackets", got=sign)
        elif sign != CLOSE:
            word = next(rest, None)
            if word is None:
                raise DataError("tree", f"more signs than the {len(words)} words")
            inner[-1][1].append(Leaf(sign, word))
        else:
            label, children = inner.pop()
            if not children:
                raise DataError("tree", f"nothing in the brackets of {label}")
            tree = Tree(label, tuple(children))
            if inner:
                inner[-1][1].append(tree)
            elif place + 1 < len(signs) or next(rest, None) is not None:
                raise DataError("tree", "signs or words are left when its brackets are closed")
            else:
                return tree
    raise DataError("tree", "brackets that are not closed")


def bracketed(tree: Tree | Leaf) -> str:
    """On one line, as bracket files have it."""
    if isinstance(tree, Leaf):
        return f"({tree.tag} {_SPELLED.get(tree.word, tree.word)})"
    return f"({tree.label} {' '.join(map(bracketed, tree.children))})"


def on_lines(tree: Tree, indent: int = 0) -> str:
    """On several lines, each bracket that holds others beginning one; leaves side by side."""
    flat = all(isinstance(child, Leaf) for child in tree.children)
    if flat:
        return " " * indent + bracketed(tree)
    lines = [" " * indent + f"({tree.label}"]
    for child in tree.children:
        inner = indent + 2
        lines.append(
            " " * inner + bracketed(child) if isinstance(child, Leaf) else on_lines(child, inner)
        )
    return "\n".join(lines) + ")"
