"""Positions in the terminal: the table as a field, waves as lines, products and deviations as bars.

field     every position (down) and dimension (across), from −1 to 1
waves     one line for each of a few dimensions: sin(p ω_i), slower and slower
products  PE(p) · PE(p+k) by distance k
spread    the standard deviation of a dimension over the positions
binary    the numbers 0 … 15 in bits beside four sines: both change half as often, place by place
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.draw.terminal.console import whole_lines
from regard.draw.terminal.heat_map import bar, painter_for

TALLEST = 26  # lines of the field
LEVELS, ASCII_LEVELS = "▁▂▃▄▅▆▇█", "_.-~=+*#"
BAR_WIDTH = 32
WAVES = 8
MOST_IN_WAVES = 400  # positions in SVG and PNG; more would be a solid band
DISTANCES = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 75, 100, 200, 500, 1000, 5000)
BITS = 4


@dataclass(frozen=True)
class PositionFigures:
    """The table of sinusoids and what is read off it; explain/positions.py fills it."""

    table: Float[np.ndarray, "length dim"]
    products: Float[np.ndarray, " length"]  # PE(0) · PE(k) for k = 0, 1, …
    deviation: Float[np.ndarray, " dim"]
    wavelengths: tuple[float, ...]  # in positions, one for each pair of dimensions
    base: float

    @property
    def length(self) -> int:
        return len(self.table)

    @property
    def dim(self) -> int:
        return len(self.deviation)

    @property
    def title(self) -> str:
        plural = "" if self.length == 1 else "s"
        return f"Sinusoids: {self.length} position{plural} × {self.dim} dimensions"

    @property
    def formula(self) -> str:
        power = f"{self.base:g}^(2i/{self.dim})"
        return f"PE(p, 2i) = sin(p / {power}),  PE(p, 2i+1) = cos(p / {power})"

    def waves_title(self, shown: int) -> str:
        cut = "" if shown == self.length else f", the first {shown}"
        return f"Waves: a dimension over the positions{cut}"

    def waves(self) -> list[int]:
        """A few sines from the first to the last, with equal steps of dimension."""
        last = self.dim // 2 - 1
        count = min(WAVES, last + 1)
        return sorted({2 * round(i * last / max(1, count - 1)) for i in range(count)})

    def doubling(self) -> list[int]:
        """The sines whose waves are nearest to 1, 2, 4 and 8 times the first; fast ones first."""
        sines: list[int] = []
        for bit in range(BITS):
            wanted = self.wavelengths[0] * 2**bit
            ratios = [abs(math.log(length / wanted)) for length in self.wavelengths]
            nearest = 2 * min(range(len(ratios)), key=ratios.__getitem__)
            if nearest not in sines:
                sines.append(nearest)
        return sines


@dataclass(frozen=True)
class PositionReport:
    """The renderable: every figure, one under another."""

    figures: PositionFigures

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        figures, ascii_only = self.figures, options.ascii_only
        parts = [
            _field(figures, console, options),
            _waves(figures, options.max_width, ascii_only),
            _products(figures),
            _spread(figures),
            _binary(figures),
        ]
        yield Text(figures.title, style="bold")
        yield Text(figures.formula, style="dim")
        for lines in parts:
            yield Text()
            yield from whole_lines(lines, strip=False)


def step(count: int, room: int) -> int:
    """How many to go on each time, so that at most `room` of `count` are shown."""
    return max(1, math.ceil(count / max(1, room)))


def _field(figures: PositionFigures, console: Console, options: ConsoleOptions) -> list[Text]:
    """The heat map, one cell for each number that is shown; sine and cosine stay together."""
    painter = painter_for(console, options)
    margin = len(str(figures.length - 1)) + 1
    down = step(figures.length, TALLEST)
    pairs = step(figures.dim // 2, (options.max_width - margin) // 2)
    dimensions = [d for d in range(figures.dim) if d // 2 % pairs == 0]
    cell = max(1, min(4, (options.max_width - margin) // len(dimensions)))
    said = "Positions down, dimensions across"
    left_out = [every(down, "position"), every(pairs, "pair")]
    if any(left_out):
        said += f" ({', '.join(filter(None, left_out))})"
    lines = [Text(said, style="bold")]
    for position in range(0, figures.length, down):
        line = Text(f"{position:>{margin - 1}} ")
        for dimension in dimensions:
            place = (float(figures.table[position, dimension]) + 1) / 2
            line.append_text(painter.paint(place, cell))
        lines.append(line)
    if painter.coloured:
        return [*lines, Text(" " * margin).append_text(painter.ramp("-1", "1"))]
    low = "-1" if options.ascii_only else "−1"
    steps = painter.steps(("-.9", "-.5", "0", ".5"))
    return [*lines, Text(" " * margin + f"blank {low}  {steps} to 1")]


def every(step: int, noun: str) -> str:
    if step == 1:
        return ""
    teens = step % 100 in (11, 12, 13)
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    return f"every {step}{ending} {noun}"


def _waves(figures: PositionFigures, width: int, ascii_only: bool) -> list[Text]:
    """One line of eight heights for each of a few sines."""
    levels = ASCII_LEVELS if ascii_only else LEVELS
    margin = len(f"dim {figures.dim - 1} ")
    shown = max(1, min(figures.length, width - margin - 17))
    lines = [Text(figures.waves_title(shown), style="bold")]
    for dimension in figures.waves():
        values = figures.table[:shown, dimension]
        heights = (levels[min(7, int((float(v) + 1) * 4))] for v in values)
        period = f"period {figures.wavelengths[dimension // 2]:,.1f}"
        lines.append(Text(f"dim {dimension}".ljust(margin) + "".join(heights) + "  " + period))
    return lines


def _products(figures: PositionFigures) -> list[Text]:
    """PE(p) · PE(p+k): it falls with the distance, and does not ask where p is."""
    lines = [Text("PE(p) · PE(p+k) by distance k, the same for every p", style="bold")]
    last = figures.length - 1
    for k in [*(k for k in DISTANCES if k < last), last]:
        value = float(figures.products[k])
        lines.append(_bar_line(f"k = {k}", f"{value:.4f}", value, figures.dim / 2))
    return lines


def _spread(figures: PositionFigures) -> list[Text]:
    """High dimensions hardly move within the text."""
    lines = [Text("Standard deviation of a dimension over the positions", style="bold")]
    for sine in figures.waves():
        for dimension in (sine, sine + 1):
            value = float(figures.deviation[dimension])
            lines.append(_bar_line(f"dim {dimension}", f"{value:.6f}", value, 1.0))
    return lines


def _bar_line(name: str, said: str, value: float, maximum: float) -> Text:
    return Text(f"{name:<9}{said:>9} {bar(value, maximum, BAR_WIDTH)}".rstrip())


def _binary(figures: PositionFigures) -> list[Text]:
    """Bits and sines side by side, slow ones left; below them how long each takes to come back."""
    sines = figures.doubling()[::-1]
    rows = min(2**BITS, figures.length)
    said = "Binary numbers beside sines: the further left, the more slowly both change"
    heads = "".join(f"{f'dim {sine}':>9}" for sine in sines)
    lines = [Text(said, style="bold"), Text(f"{'':9}{'  8  4  2  1':12}  {heads}")]
    for number in range(rows):
        bits = "".join(f"{bit:>3}" for bit in f"{number:04b}")
        values = "".join(f"{float(figures.table[number, sine]):>+9.2f}" for sine in sines)
        lines.append(Text(f"{number:>8} {bits}  {values}"))
    periods = "".join(f"{figures.wavelengths[sine // 2]:>9,.1f}" for sine in sines)
    return [*lines, Text(f"{'period':>8}  16  8  4  2  {periods}")]
