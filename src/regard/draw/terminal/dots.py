"""Dot grids in the terminal: a grid of weights goes in, a rich renderable comes out.

                 मुझे  आइसक्रीम  खाना      rows are looked at, columns look:
              I   ⬤      ·      ·        each column sums to 1
      ice-cream   ·      ⬤      •

A dot has four sizes. Colour says nothing here.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.draw.grid import Grid, number
from regard.draw.labels import pad_left
from regard.draw.terminal.console import whole_lines
from regard.draw.terminal.heat_map import side_labels

DOTS, ASCII_DOTS = "·•●⬤", ".oO@"
BEGINS = (0.05, 0.25, 0.5)  # the weight from which the next larger dot is drawn
GAP = 2  # terminal cells between two columns


@dataclass(frozen=True)
class DotGrid:
    """A dot grid; too wide a one is split into blocks, one under another."""

    grid: Grid
    title: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the console."""
        dots = ASCII_DOTS if options.ascii_only else DOTS
        width = max(12, options.max_width)
        title, names, heads, margin = side_labels(self.grid, self.title, width, options.ascii_only)
        lines = [Text(title, style="bold"), Text()] if title else []
        for part in _blocks([cell_len(head) for head in heads], width - margin):
            lines.append(Text(" " * margin + "".join(" " * GAP + heads[c] for c in part)))
            for row, name in enumerate(names):
                line = Text(pad_left(name, margin))
                for column in part:
                    fraction = self.grid.at(0, row, column)[1]
                    line.append_text(_dot(fraction, cell_len(heads[column]), dots))
                lines.append(line)
            lines.append(Text())
        larger = (f"{dot} {number(at)}" for dot, at in zip(dots[1:], BEGINS, strict=True))
        up_to = " ... 1" if options.ascii_only else " … 1"
        legend = f"{dots[0]} 0  " + "  ".join(larger) + up_to
        yield from whole_lines([*lines, Text(" " * (margin + GAP) + legend)])


def _blocks(widths: Sequence[int], space: int) -> list[range]:
    """Columns that stand side by side, at least one in each block."""
    blocks, first, used = [], 0, 0
    for column, width in enumerate(widths):
        used += GAP + width
        if used > space and column > first:
            blocks.append(range(first, column))
            first, used = column, GAP + width
    return [*blocks, range(first, len(widths))]


def _dot(fraction: float, width: int, dots: str) -> Text:
    """A gap, then a dot in the middle of its column; no value, no dot."""
    if math.isnan(fraction):
        return Text(" " * (GAP + width))
    size = bisect_right(BEGINS, fraction)
    left = (width - 1) // 2
    text = Text(" " * (GAP + left)).append(dots[size], style="" if size else "dim")
    return text.append(" " * (width - 1 - left))
