"""Trees in columns, as CoNLL's shared tasks have them: a word a line, its tag, its brackets.

    The   DT   (S(NP*       what opens before the word, a star for the word, what closes behind it
    cat   NN   *)
    sat   VBD  (VP*))       an empty line ends a tree

Columns are parted by tabs, or by spaces where a line has no tab; lines that begin with # are none.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.data.lines import Problem, decoded, find_file, read_lines
from regard.data.trees import MOST_LINE, Leaf, Tree, trees_of
from regard.errors import DataError

STAR = "*"


def in_columns(tree: Tree) -> str:
    """A line a word."""
    rows: list[list[str]] = []

    def visit(part: Tree, before: str) -> None:
        opened = f"{before}({part.label}"
        for child in part.children:
            if isinstance(child, Leaf):
                rows.append([child.word, child.tag, f"{opened}{STAR}"])
            else:
                visit(child, opened)
            opened = ""
        rows[-1][2] += ")"

    visit(tree, "")
    return "".join("\t".join(row) + "\n" for row in rows)


def read_columns(path: Path) -> list[list[str]]:
    """The words of each sentence of a file in columns; what stands beside them is not needed."""
    find_file(path)
    return [[row[0] for row in rows] for _, rows in _sentences(path)]


def trees_in_columns(path: Path) -> list[Tree]:
    """The trees of such a file."""
    find_file(path)
    return [_tree(path, number, rows) for number, rows in _sentences(path)]


def _tree(path: Path, number: int, rows: list[list[str]]) -> Tree:
    parts: list[str] = []
    for line, row in enumerate(rows, start=number):
        where = f"{path}, line {line}"
        if len(row) < 3 or row[-1].count(STAR) != 1:
            raise DataError(where, expected="a word, its tag and its brackets: (NP*")
        word, tag, brackets = row[0], row[1], row[-1]
        spelled = {"(": "-LRB-", ")": "-RRB-"}
        leaf = f" ({spelled.get(tag, tag)} {spelled.get(word, word)}) "
        parts.append(brackets.replace("(", " (").replace(STAR, leaf))
    (tree,) = trees_of(parts, str(path))
    return tree


def _sentences(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    """Where each begins, and its cells."""
    rows: list[list[str]] = []
    begun = 0
    for number, line in enumerate(_texts(path), start=1):
        if line.strip() and not line.startswith("#\t") and not line.startswith("# "):
            begun = begun if rows else number
            rows.append([cell.strip() for cell in line.split("\t" if "\t" in line else None)])
        elif rows and not line.strip():
            yield begun, rows
            rows = []
    if rows:
        yield begun, rows


def _texts(path: Path) -> Iterable[str]:
    for number, line in enumerate(read_lines(path, MOST_LINE), start=1):
        text = decoded(line)
        if isinstance(text, Problem):
            raise DataError(f"{path}, line {number}", str(text), expected="text in columns")
        yield text
