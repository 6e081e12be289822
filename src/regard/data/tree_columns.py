"""Trees in columns, as CoNLL's shared tasks have them: a word a line, its tag, its brackets.

    The   DT   (S(NP*       what opens before the word, a star for the word, what closes behind it
    cat   NN   *)
    sat   VBD  (VP*))       an empty line ends a tree

Columns are parted by tabs, or by spaces where a line has no tab; lines that begin with # are none.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.data.lines import Problem, decoded, find_file, read_lines
from regard.data.trees import MOST_LINE, Leaf, Tree
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
    return list(_sentences(path))


def _sentences(path: Path) -> Iterator[list[str]]:
    words: list[str] = []
    for line in _texts(path):
        if line.strip() and not line.startswith("#\t") and not line.startswith("# "):
            words.append(line.split("\t" if "\t" in line else None)[0].strip())
        elif words and not line.strip():
            yield words
            words = []
    if words:
        yield words


def _texts(path: Path) -> Iterable[str]:
    for number, line in enumerate(read_lines(path, MOST_LINE), start=1):
        text = decoded(line)
        if isinstance(text, Problem):
            raise DataError(f"{path}, line {number}", str(text), expected="text in columns")
        yield text
