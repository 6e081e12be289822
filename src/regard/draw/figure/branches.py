"""A tree as a picture: words in a row at the bottom, each bracket above the middle of its parts."""

import math
from collections.abc import Iterator

from regard.draw.branches import Branch, depth
from regard.draw.figure import canvas
from regard.draw.figure.canvas import Drawn, Picture, Stroke, Text
from regard.draw.labels import ems, visible

LEVEL = 46.0  # pixels between two rows of labels
BETWEEN = 16.0  # between two words
FONT, WORD = canvas.SUBTITLE_SIZE, canvas.SUBTITLE_SIZE
LINE = 1.2
ABOVE, BELOW = 14.0, 5.0  # of a line to the letters that it joins


def branches(branch: Branch, title: str = "") -> Picture:
    """As wide as its words need."""
    head = canvas.heading(title, "")
    rows = depth(branch)
    top = head.bottom + LEVEL / 2
    bottom = top + (rows - 1) * LEVEL
    drawing = _Drawing(top, bottom)
    drawing.place(branch, 0)
    shapes: list[Drawn] = [*head.texts(), *drawing.shapes]
    right = max(drawing.right, head.right)
    height = bottom + LEVEL / 2 + canvas.PAD
    words = visible(f"A tree: {_in_words(branch)}")
    name = visible(title) or "A tree"
    return Picture(math.ceil(right + canvas.PAD), height + canvas.PAD, name, words, shapes)


class _Drawing:
    """Places words from left to right, and everything else above them."""

    def __init__(self, top: float, bottom: float) -> None:
        self._top, self._bottom = top, bottom
        self.right = canvas.PAD
        self.shapes: list[Drawn] = []

    def place(self, branch: Branch, row: int) -> tuple[float, float]:
        """Draw it; where its label stands: x, and y of its baseline."""
        label, word = visible(branch.label), visible(branch.word)
        if not branch.parts:
            width = max(ems(label) * FONT, ems(word) * WORD)
            x = self.right + width / 2 + (BETWEEN if self.right > canvas.PAD else 0)
            self.right = x + width / 2
            y = self._bottom
            self.shapes.append(Text(x, y, label, FONT, canvas.MUTED, "middle"))
            self.shapes.append(Text(x, y + 20, word, WORD, canvas.INK, "middle"))
            return x, y
        y = self._top + row * LEVEL
        places = [self.place(part, row + 1) for part in branch.parts]
        x = (places[0][0] + places[-1][0]) / 2
        self.shapes += self._lines(x, y, places)
        self.shapes.append(Text(x, y, label, FONT, canvas.BLUE, "middle", bold=True))
        return x, y

    def _lines(self, x: float, y: float, places: list[tuple[float, float]]) -> Iterator[Stroke]:
        for other, below in places:
            ends = [(x, y + BELOW), (other, below - ABOVE)]
            yield Stroke(ends, canvas.HAIRLINE, LINE)


def _in_words(branch: Branch) -> str:
    """Nested brackets, for those who do not see it."""
    if not branch.parts:
        return branch.word
    return f"{branch.label} ({' '.join(map(_in_words, branch.parts))})"
