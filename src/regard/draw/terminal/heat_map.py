"""Heat maps in the terminal: a grid of weights goes in, a rich renderable comes out; and bars.

How the picture is painted is decided when it is printed: coloured cells where the console has at
least 256 colours, shade characters where it has fewer, none (NO_COLOR), or is a file.

        The       quick
        │   cat   │           a column label stands on the first line where it fits,
        │   │ sat │           a thin line leads down to its column
    the ████░░░░▒▒▒▒
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from regard.draw import palette
from regard.draw.grid import Grid, number
from regard.draw.labels import graphemes, pad_left, shorten_cells
from regard.draw.terminal.console import whole_lines

CELL_WIDTHS = (4, 3, 2)  # the widest that lets the whole map fit is taken; 2 looks square
TALLEST_HEADER = 12  # lines; a staircase of labels that is taller is written letter by letter
LONGEST_LABEL = 16  # terminal cells
SHADES, ASCII_SHADES = " ░▒▓█", " .+*#"
SHADES_BEGIN = (0.05, 0.25, 0.5, 0.75)  # fractions of the maximum; below the first it stays blank
EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float | int, maximum: float | int, width: int) -> str:
    """A horizontal bar of exactly `width` cells, fine to an eighth of a cell; NaN is empty."""
    share = 0.0 if math.isnan(value) or maximum <= 0 else min(1.0, max(0.0, value / maximum))
    full, rest = divmod(round(share * width * 8), 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


@dataclass(frozen=True)
class HeatMap:
    """An attention map: one line per row, blocks one under another if it is too wide.

    Rows are the tokens that look (output), columns the tokens looked at (input).
    """

    grid: Grid
    title: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the console, then paint line by line."""
        painter = painter_for(console, options)
        width = max(12, options.max_width)
        title, names, heads, margin = side_labels(self.grid, self.title, width, options.ascii_only)
        cell, block = _columns_per_block(heads, width - margin - 1)
        lines = [Text(title, style="bold"), Text()] if title else []
        for first in range(0, len(heads), block):
            part = range(first, min(first + block, len(heads)))
            labels = [heads[column] for column in part]
            lines += _header(labels, cell, width - margin - 1, margin + 1, painter)
            for row, name in enumerate(names):
                line = Text(pad_left(name, margin) + " ")
                for column in part:
                    line.append_text(painter.paint(self.grid.at(0, row, column)[1], cell))
                lines.append(line)
            lines.append(Text())
        lines.append(Text(" " * (margin + 1)).append_text(_legend(painter, self.grid.maximum)))
        yield from whole_lines(lines, strip=not painter.coloured)


def _legend(painter: "Painter", maximum: float) -> Text:
    """The scale from 0 to `maximum`."""
    end = number(maximum)
    if painter.coloured:
        return painter.ramp("0", end)
    up_to = "..." if painter.ascii_only else "…"
    begins = [number(begin * maximum) for begin in SHADES_BEGIN]
    return Text(f"blank 0  {painter.steps(begins)} {up_to} {end}")


def side_labels(
    grid: Grid, title: str, width: int, ascii_only: bool
) -> tuple[str, list[str], list[str], int]:
    """Title, rows and columns as the console can show them, and the room left of the picture."""

    def plain(text: str) -> str:
        return text.encode("ascii", "backslashreplace").decode() if ascii_only else text

    names = [plain(shorten_cells(name, LONGEST_LABEL)) for name in grid.rows]
    heads = [plain(shorten_cells(name, LONGEST_LABEL)) for name in grid.columns]
    margin = min(max(cell_len(name) for name in names), max(4, width // 3))
    return plain(title), [shorten_cells(name, margin) for name in names], heads, margin


@dataclass(frozen=True)
class Painter:
    """How one cell looks: a coloured blank, or one of five shade characters."""

    coloured: bool
    ascii_only: bool

    def paint(self, fraction: float, cell: int) -> Text:
        """One weight, `cell` terminal cells wide; a missing one is dotted."""
        if math.isnan(fraction):
            return Text(("." if self.ascii_only else "·") * cell, style="dim")
        if self.coloured:
            red, green, blue = palette.channels(palette.scale(fraction, dark=True))
            return Text(" " * cell, style=Style(bgcolor=Color.from_rgb(red, green, blue)))
        return Text(self.shade(fraction) * cell)

    @property
    def shades(self) -> str:
        return ASCII_SHADES if self.ascii_only else SHADES

    def shade(self, fraction: float) -> str:
        return self.shades[bisect_right(SHADES_BEGIN, fraction)]

    def ramp(self, low: str, high: str) -> Text:
        """The scale in colours."""
        cells = (self.paint(step / 23, 1) for step in range(24))
        return Text.assemble((f"{low} ", "dim"), *cells, (f" {high}", "dim"))

    def steps(self, begins: Sequence[str]) -> str:
        """The scale in characters: each shade with where it begins."""
        pairs = zip(self.shades[1:], begins, strict=True)
        return "  ".join(f"{shade * 2} {begin}" for shade, begin in pairs)


def painter_for(console: Console, options: ConsoleOptions) -> Painter:
    """What a console can show; sixteen colours cannot be ordered by eye, so they count as none."""
    rich_enough = console.color_system in ("truecolor", "256") and not console.no_color
    return Painter(rich_enough, options.ascii_only)


def _columns_per_block(labels: Sequence[str], space: int) -> tuple[int, int]:
    """The width of a cell, and how many columns stand side by side in `space` cells."""
    for cell in CELL_WIDTHS:
        if (len(labels) - 1) * cell + max(cell, cell_len(labels[-1])) <= space:
            return cell, len(labels)
    blocks = math.ceil(len(labels) / max(1, space // CELL_WIDTHS[-1]))
    return CELL_WIDTHS[-1], math.ceil(len(labels) / blocks)


def _header(
    labels: Sequence[str], cell: int, space: int, margin: int, painter: Painter
) -> list[Text]:
    """The column labels above one block: the staircase if it fits, else letter by letter."""
    heights = _staircase(labels, cell)
    reach = max(i * cell + cell_len(label) for i, label in enumerate(labels))
    if max(heights) > TALLEST_HEADER or reach > space:
        return _letters(labels, cell, margin)
    lines = []
    for level in range(max(heights), 0, -1):
        line = Text(" " * margin)
        for index, (label, height) in enumerate(zip(labels, heights, strict=True)):
            line.append(" " * (margin + index * cell - line.cell_len))
            if height == level:
                line.append(label)
            elif height > level:
                line.append("|" if painter.ascii_only else "│", style="dim")
        lines.append(line)
    return lines


def _staircase(labels: Sequence[str], cell: int) -> list[int]:
    """The line on which each label stands, 1 being nearest to the map.

    A label runs on to the right over the next columns, whose own labels must then stand lower:
    height = 1 + the greatest height among the columns it covers. So work from right to left.
    """
    heights = [1] * len(labels)
    for index in range(len(labels) - 1, -1, -1):
        covered = -(-(cell_len(labels[index]) + 1) // cell) - 1
        heights[index] = 1 + max(heights[index + 1 : index + 1 + covered], default=0)
    return heights


def _letters(labels: Sequence[str], cell: int, margin: int) -> list[Text]:
    """Labels written downwards, one letter per line, all ending at the map."""
    towers = [graphemes(shorten_cells(label, TALLEST_HEADER)) for label in labels]
    tallest = max(len(tower) for tower in towers)
    lines = []
    for level in range(tallest, 0, -1):
        line = Text(" " * margin)
        for index, tower in enumerate(towers):
            line.append(" " * (margin + index * cell - line.cell_len))
            line.append(tower[-level] if level <= len(tower) else " ")
        lines.append(line)
    return lines
