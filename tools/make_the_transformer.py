"""docs/the_transformer.md: the one-file Transformer, printed with notes in its margin.

    make reference                       writes it too; tests/test_the_transformer.py compares

The code is cut where classes and functions begin; a note stands before the first of its part and
leads to the section of the notes, or to the file of the core, that says more. What stands there,
and at the top of the page, is in tools/the_transformer_notes.md.
"""

import ast
from pathlib import Path

from doc_pages import DOCS

HEAD = "\n@ "  # before the class or function that begins a part
PROGRAM = DOCS / "the_transformer.py"
PAGE = "the_transformer.md"
NOTES = Path(__file__).parent / "the_transformer_notes.md"


def page() -> str:
    """The notes between the parts of the program."""
    text = PROGRAM.read_text(encoding="utf-8")
    lines = text.splitlines()
    starts = {"top": 0, **begin_lines(text)}
    about, *notes = NOTES.read_text(encoding="utf-8").split(HEAD)
    noted = [(starts[name], note.strip()) for name, _, note in (n.partition("\n") for n in notes)]
    assert noted == sorted(noted), "notes in the order of the program"
    ends = [start for start, _ in noted[1:]] + [len(lines)]
    parts = [
        f'<div class="margin-note" markdown="1">\n\n{note}\n\n</div>\n\n'
        f"```py\n{chr(10).join(lines[start:end]).strip(chr(10))}\n```\n"
        for (start, note), end in zip(noted, ends, strict=True)
    ]
    return about.strip().format(lines=len(lines)) + "\n\n" + "\n".join(parts)


def begin_lines(text: str) -> dict[str, int]:
    """Class or function of the top level → its first line, decorators counted, from 0."""
    nodes = (n for n in ast.parse(text).body if isinstance(n, ast.ClassDef | ast.FunctionDef))
    return {
        node.name: min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        for node in nodes
    }
