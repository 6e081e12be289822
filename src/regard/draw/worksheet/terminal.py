"""A worksheet for the terminal: a Worksheet goes in, a rich renderable comes out.

    4  Queries of head 1                                        Q = x W_Q + b_Q
       Each row of x, seen through W_Q.

       Q            1        2   …      32
         The   0.1234  −0.5678   …  0.9012
       ▸ cat   1.0000   0.4444   …  0.1000        the row that the worksheet is about
       28 of 32 columns are hidden

A matrix that is wider than the screen is cut in the middle and says so. Blue is positive, orange
negative, bold large, dim next to nothing, always measured by the largest number of that matrix.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from regard.draw.labels import pad_left, shorten_cells, visible
from regard.draw.tint import LEVELS, largest, level
from regard.draw.worksheet.numbers import DECIMALS, kept, number, places, vector
from regard.draw.worksheet.worksheet import (
    Line,
    Mark,
    Matrix,
    StepPart,
    Sum,
    Worksheet,
    WorksheetStep,
)

INDENT = 4
LONGEST_LABEL = 14  # terminal cells
LEAST_COLUMNS = 2
GAP = "  "
MARKS = {"right": ("✓", "bold green"), "wrong": ("✗", "bold red"), "unchecked": ("·", "dim")}
# Mid-tones that can be read on a light and on a dark terminal.
POSITIVE, NEGATIVE = "#208ea4", "#d4562a"
SPELLED = str.maketrans({
    "−": "-", "…": "...", "·": "*", "∞": "inf", "√": "sqrt", "Σ": "sum", "▸": ">", "✓": "ok:",
    "✗": "wrong:", "→": "->", "ᵀ": "^T", "÷": "/", "×": "x", "≥": ">=", "≤": "<=", "–": "-",
    "▁": "_", "γ": "gamma", "β": "beta", "ε": "epsilon",
})  # fmt: skip


@dataclass(frozen=True)
class TerminalSheet:
    """The renderable: print it with any rich console. `columns` 0 shows all, None what fits."""

    sheet: Worksheet
    decimals: int = DECIMALS
    columns: int | None = None

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        say = _spelled if options.ascii_only else visible
        width = max(24, options.max_width)
        painter = _Painter(say, width - INDENT, self.decimals, self.columns)
        yield Text(say(self.sheet.title), style="bold")
        if self.sheet.subtitle:
            yield Text(say(self.sheet.subtitle))
        for place, step in enumerate(self.sheet.steps, start=1):
            yield Text()
            yield from _heading(place, step, width, say)
            for line in painter.step(step):
                # A row of a table stays whole, whatever its width; words are wrapped.
                rows = [line] if line.no_wrap else line.wrap(console, width - INDENT)
                for row in rows:
                    row.rstrip()
                    yield _line(Text(" " * INDENT if row else "").append_text(row))


def _spelled(text: str) -> str:
    """`text` for a console that knows ASCII only."""
    return visible(text).translate(SPELLED).encode("ascii", "backslashreplace").decode()


def _heading(
    place: int, step: WorksheetStep, width: int, say: Callable[[str], str]
) -> Iterator[Text]:
    """Number and title, the equation at the right, or below when both do not fit on a line."""
    line = Text.assemble((f"{place:>2}", "bold magenta"), " " * (INDENT - 2))
    line.append(say(step.title), style="bold")
    equation = say(step.equation)
    room = width - line.cell_len - cell_len(equation)
    if equation and room >= 3:
        yield line.append(" " * room).append(equation, style="italic cyan")
        return
    yield line
    if equation:
        yield Text(" " * INDENT + equation, style="italic cyan")


@dataclass(frozen=True)
class _Painter:
    """Writes the parts of a step as lines of at most `width` cells, where that is possible."""

    say: Callable[[str], str]
    width: int
    decimals: int
    columns: int | None

    def step(self, step: WorksheetStep) -> Iterator[Text]:
        if step.note:
            yield Text(self.say(step.note), style="dim")
        for part in step.parts:
            if not isinstance(part, Line):
                yield _line(Text())
            yield from self.part(part)
        if step.mark is not None:
            yield self.mark(step.mark)

    def part(self, part: StepPart) -> Iterator[Text]:
        if isinstance(part, Line):
            yield Text(self.say(part.text))
        elif isinstance(part, Sum):
            yield from self.sum(part)
        else:
            yield from self.matrix(part)

    def label(self, label: str) -> str:
        """A label of limited length."""
        return self.say(shorten_cells(self.say(label), LONGEST_LABEL))

    def mark(self, mark: Mark) -> Text:
        sign, style = MARKS[mark.verdict]
        line = Text(self.say(sign), style=style)
        words = mark.message or mark.verdict
        return line.append(f" {self.say(words)}", style=style)

    def matrix(self, matrix: Matrix) -> Iterator[Text]:
        names = [self.label(label) for label in matrix.rows]
        title = self.say(matrix.name)
        if cell_len(title) > LONGEST_LABEL:  # it would push the numbers off the screen
            yield Text(title, style="bold")
            title = ""
        margin = max(cell_len(title), 2 + max(cell_len(name) for name in names))
        heads = [self.label(head) for head in matrix.heads]
        exact = places(matrix.grid, self.decimals)
        cells = [[self.say(number(float(v), exact)) for v in row] for row in matrix.grid]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
        limit = self._limit(widths, margin)
        shown = kept(len(heads), limit)
        head = Text.assemble((title + " " * (margin - cell_len(title)), "bold"))
        for place in shown:
            label = self.say("…") if place is None else heads[place]
            head.append(GAP + pad_left(label, _width(widths, place)), style="dim")
        yield _line(head)
        end = largest(matrix.grid)
        for row, name in enumerate(names):
            chosen = row == matrix.highlight
            line = Text.assemble((self.say("▸") + " " if chosen else "  ", "bold magenta"))
            line.append(name + " " * (margin - 2 - cell_len(name)), style="bold" if chosen else "")
            for place in shown:
                line.append_text(self._cell(matrix, cells, widths, row, place, end))
            yield _line(line)
        rest = matrix.hidden(limit)
        if rest:
            yield Text(f"  {rest}", style="dim italic")

    def _cell(
        self,
        matrix: Matrix,
        cells: list[list[str]],
        widths: Sequence[int],
        row: int,
        place: int | None,
        end: float,
    ) -> Text:
        if place is None:
            return Text(GAP + pad_left(self.say("…"), _width(widths, None)), style="dim")
        style = _style(float(matrix.grid[row, place]), end)
        return Text(GAP).append(pad_left(cells[row][place], widths[place]), style=style)

    def _limit(self, widths: Sequence[int], margin: int) -> int:
        """How many columns fit beside the labels, or as many as were asked for."""
        if self.columns is not None:
            return self.columns
        room = self.width - margin
        for limit in range(len(widths), LEAST_COLUMNS, -1):
            used = sum(_width(widths, place) + len(GAP) for place in kept(len(widths), limit))
            if used <= room:
                return limit  # GAP is as wide as the ", " of a vector
        return LEAST_COLUMNS

    def sum(self, part: Sum) -> Iterator[Text]:
        """One term on each line, the weight before its vector, whose name stands behind."""
        exact = places(part.weights, self.decimals)
        weights = [self.say(number(float(weight), exact)) for weight in part.weights]
        first = max(map(len, weights))
        names = [self.label(label) for label in part.labels]
        room = self.width - first - 7 - max(map(cell_len, names))
        limit = self._vector_limit(part.vectors, room)
        own = self._vector_limit(part.total[None], self.width - 2)
        vectors = [self.say(vector(values, self.decimals, limit)) for values in part.vectors]
        longest = max(map(cell_len, vectors))
        end = largest(part.weights)
        yield Text(f"{self.say(part.name)} =", style="bold")
        for place, (text, values, name) in enumerate(zip(weights, vectors, names, strict=True)):
            line = Text.assemble(("  " if place == 0 else "+ ", "dim"))
            line.append(text.rjust(first), style=_style(float(part.weights[place]), end))
            line.append(f" {self.say('·')} ", style="dim")
            line.append(values + " " * (longest - cell_len(values)))
            yield _line(line.append(f"  {name}", style="italic dim"))
        total = self.say(vector(part.total, self.decimals, min(limit, own)))
        yield _line(Text.assemble(("= ", "dim"), (total, "bold")))

    def _vector_limit(self, vectors: np.ndarray, room: int) -> int:
        """How many numbers of each vector fit into `room` cells, with brackets and commas."""
        written = []
        for values in vectors:
            exact = places(values, self.decimals)
            written.append([len(self.say(number(float(v), exact))) for v in values])
        widest = [max(column) for column in zip(*written, strict=True)]
        return self._limit(widest, self.width - room + len("()") - len(", "))


def _line(line: Text) -> Text:
    """A row of a table is never wrapped: a pager scrolls sideways, a file keeps it whole."""
    line.no_wrap, line.overflow = True, "ignore"
    return line


def _width(widths: Sequence[int], place: int | None) -> int:
    return 3 if place is None else widths[place]


def _style(value: float, end: float) -> str:
    """Blue, orange or dim, bold for the upper third of the matrix's own scale."""
    if end == 0:
        return ""
    strength = level(value, end)
    if strength == 0:
        return "dim"
    hue = POSITIVE if strength > 0 else NEGATIVE
    return f"bold {hue}" if abs(strength) > LEVELS * 2 / 3 else hue
