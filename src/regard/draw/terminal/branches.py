"""A tree in the terminal: one line a branch, its parts indented under it, words at the right.

S
├── NP
│   ├── DT    The
│   └── NN    cat
└── VP
    └── VBD   sat
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.draw.branches import Branch
from regard.draw.labels import visible
from regard.draw.terminal.console import whole_lines

GAP = 2  # cells between the longest label and the words
LINES = {False: ("├── ", "└── ", "│   ", "    "), True: ("|-- ", "`-- ", "|   ", "    ")}


@dataclass(frozen=True)
class BranchDrawing:
    """A tree, for a console."""

    branch: Branch

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        rows = list(_rows(self.branch, LINES[options.ascii_only]))
        widest = max((cell_len(label) for label, word in rows if word), default=0)
        wide = min(widest, options.max_width // 2) + GAP  # deeper ones have their word right behind
        yield from whole_lines(
            Text(f"{label}{' ' * max(GAP, wide - cell_len(label))}{word}" if word else label)
            for label, word in rows
        )


def _rows(branch: Branch, lines: tuple[str, str, str, str]) -> Iterator[tuple[str, str]]:
    """Each line's label with what leads to it, and its word."""
    yield visible(branch.label), visible(branch.word)
    between, last, beside, beneath = lines
    for number, part in enumerate(branch.parts, start=1):
        is_last = number == len(branch.parts)
        for place, (label, word) in enumerate(_rows(part, lines)):
            leads = (beneath, last) if is_last else (beside, between)
            yield f"{leads[place == 0]}{label}", word
