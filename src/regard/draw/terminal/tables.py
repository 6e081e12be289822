"""Numbers in the terminal: a shaded table, bars with labels, and sums that break between terms.

As with heat maps, the shade is a background colour where the console has at least 256 colours, and
otherwise a shade character after the number; the number is always there.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from regard.draw import palette
from regard.draw.labels import pad_left, shorten_cells, visible
from regard.draw.terminal.console import whole_lines
from regard.draw.terminal.heat_map import Painter, bar, painter_for

LONGEST_LABEL = 12  # terminal cells
BAR_WIDTH = 40


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers with so many decimals; NaN is a dash.

    The shade runs between `ends`; None: from the smallest number to the largest.
    """

    values: Float[np.ndarray, "rows columns"]
    rows: Sequence[str]
    columns: Sequence[str]
    title: str
    ends: tuple[float | int, float | int] | None = None
    decimals: int = 2

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the console; too wide a table is split into blocks, one under another."""
        painter = painter_for(console, options)
        names = [shorten_cells(visible(name), LONGEST_LABEL) for name in self.rows]
        heads = [shorten_cells(visible(name), LONGEST_LABEL) for name in self.columns]
        margin = max(cell_len(name) for name in names)
        texts = [[written(float(value), self.decimals) for value in row] for row in self.values]
        width = max(cell_len(text) for text in [*heads, *(t for row in texts for t in row)]) + 2
        across = max(1, (options.max_width - margin) // width)
        lines = [Text(self.title, style="bold")]
        for first in range(0, len(heads), across):
            part = range(first, min(first + across, len(heads)))
            head = "".join(pad_left(heads[column], width - 1) + " " for column in part)
            lines.append(Text(" " * margin + head))
            for row, name in enumerate(names):
                line = Text(pad_left(name, margin))
                for column in part:
                    text, place = texts[row][column], self.place(row, column)
                    line.append_text(_cell(text, width, place, painter))
                lines.append(line)
            lines.append(Text())
        yield from whole_lines(lines[:-1], strip=not painter.coloured)

    def place(self, row: int, column: int) -> float:
        """Where a value stands between the ends, from 0 to 1."""
        value = float(self.values[row, column])
        finite = self.values[np.isfinite(self.values)]
        if math.isnan(value) or not finite.size:
            return 0.0
        low, high = self.ends or (float(finite.min()), float(finite.max()))
        return (value - low) / (high - low) if high > low else 0.0


def written(value: float, decimals: int = 2) -> str:
    """A number as tables write it."""
    return "–" if math.isnan(value) else f"{value:.{decimals}f}"


def _cell(text: str, width: int, place: float, painter: Painter) -> Text:
    """A number, with its shade behind it or after it."""
    if painter.coloured and text != "–":
        colour = palette.scale(place, dark=True)
        style = Style(color=palette.ink_on(colour), bgcolor=colour)
        return Text(" ").append(pad_left(text, width - 1), style=style)
    shade = " " if text == "–" else painter.shade(place)
    return Text(pad_left(text, width - 1) + shade)


def bars(values: Sequence[float], labels: Sequence[str]) -> Text:
    """One labelled bar for each value of 0 … 1, with its number; NaN has a dash and no bar."""
    names = [shorten_cells(visible(label), LONGEST_LABEL) for label in labels]
    margin = max(cell_len(name) for name in names)
    lines = [
        f"{pad_left(name, margin)} {written(value):>5} {bar(value, 1.0, BAR_WIDTH)}".rstrip()
        for name, value in zip(names, values, strict=True)
    ]
    return Text("\n".join(lines), no_wrap=True, overflow="crop")


@dataclass(frozen=True)
class WrittenSums:
    """Lines `name = a + b + c` with their equals signs aligned; they break only before a plus."""

    sums: Sequence[tuple[str, Sequence[str]]]
    title: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        if self.title:
            yield Text(self.title, style="bold")
            yield Text()
        margin = max(cell_len(visible(name)) for name, _ in self.sums)
        for name, summands in self.sums:
            lines = [pad_left(visible(name), margin) + " ="]
            for i, summand in enumerate(summands):
                text = f" + {visible(summand)}" if i else f" {visible(summand)}"
                if i and cell_len(lines[-1] + text) > options.max_width:
                    lines.append(" " * margin)
                lines[-1] += text
            yield Text("\n".join(lines), no_wrap=True, overflow="ignore")
