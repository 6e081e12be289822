"""Positions: the figures go in, a picture with four panels comes out.

table as a heat map      waves, one strip each
PE·PE by distance        standard deviation by dimension
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Circle, Drawn, Number, Picture, Raster, Stroke, Text, Tip
from regard.draw.terminal.positions import MOST_IN_WAVES, PositionFigures, every, step

WIDTH, HEIGHT = 960, 680
LEVELS = 32  # fewer steps of the colour scale, longer strokes of one colour
MOST, MOST_IN_PNG = 128, 400  # positions and pairs of the table: an SVG grows with every cell
SIZE = 11.0  # of numbers at the axes
DOT, DOTS_UP_TO = 2.6, 64  # radius, and of how many points


@dataclass(frozen=True)
class Panel:
    """A rectangle on the page and the numbers its edges stand for; y grows upwards."""

    left: Number
    top: Number
    width: Number
    height: Number
    x_end: Number
    y_start: Number
    y_end: Number

    def at(self, x: Number, y: Number) -> tuple[float, float]:
        span = self.y_end - self.y_start
        return (
            self.left + self.width * x / max(1, self.x_end),
            self.top + self.height * (self.y_end - y) / span,
        )

    def name(self, text: str) -> Text:
        return Text(self.left, self.top - 13, text, canvas.SUBTITLE_SIZE, bold=True)

    def beside(self, y: Number, text: str) -> Text:
        """Words left of the panel, level with a place in it."""
        return Text(self.left - 6, y + 4, text, SIZE, canvas.MUTED, "end")

    def below(self, x: Number, text: str) -> Text:
        return Text(x, self.top + self.height + 16, text, SIZE, canvas.MUTED, "middle")

    def curve(
        self,
        values: Sequence[Number],
        colour: canvas.Colour,
        width: Number,
        first: int = 0,
        pitch: int = 1,
    ) -> Stroke | Circle:
        """A value at every place, or at each second one; a single one is a dot."""
        points = [self.at(first + pitch * i, value) for i, value in enumerate(values)]
        return Stroke(points, colour, width) if len(points) > 1 else Circle(*points[0], DOT, colour)

    def hairlines(self, values: Sequence[Number]) -> Iterator[Drawn]:
        """Each with its number at the left."""
        for value in values:
            x, y = self.at(0, value)
            yield Stroke([(x, y), (x + self.width, y)], canvas.HAIRLINE, 1)
            yield self.beside(y, f"{value:g}")

    def ticks(self) -> Iterator[Text]:
        return (self.below(self.at(tick, 0)[0], str(tick)) for tick in _ticks(int(self.x_end)))


def positions(figures: PositionFigures, most: int = MOST) -> Picture:
    """Four panels that show what the sinusoids are like."""
    words = (
        f"Heat map of the position vectors, a few of their waves, the product of two vectors by "
        f"distance (from {figures.products[0]:.4f} at 0), and the standard deviation of each "
        f"dimension (from {figures.deviation[0]:.4f} to {figures.deviation[-1]:.6f})."
    )
    last, lowest = figures.length - 1, min(0.0, float(figures.products.min()))
    shapes = [
        *canvas.heading(figures.title, figures.formula).texts(),
        *_table(figures, Panel(60, 100, 390, 225, figures.dim, figures.length, 0), most),
        *_waves(figures, 540, 100),
        *_products(figures, Panel(60, 420, 390, 205, last, lowest, figures.dim / 2)),
        *_deviation(figures, Panel(540, 420, 390, 205, figures.dim - 1, 0, 1)),
    ]
    return Picture(WIDTH, HEIGHT, figures.title, words, shapes)


def _table(figures: PositionFigures, panel: Panel, most: int) -> Iterator[Drawn]:
    """The table as cells; a sine and its cosine stay together."""
    down, pairs = step(figures.length, most), step(figures.dim // 2, most)
    columns = [d for d in range(figures.dim) if d // 2 % pairs == 0]
    levels = np.rint((figures.table[::down][:, columns] + 1) / 2 * LEVELS).astype(int)
    colours = [canvas.scale(level / LEVELS) for level in range(LEVELS + 1)]
    yield panel.name("Table: positions down, dimensions across")
    yield Raster(panel.left, panel.top, panel.width, panel.height, levels, colours)
    for position in _ticks(figures.length - 1):
        yield panel.beside(panel.at(0, position + 0.5)[1], str(position))
    for dimension in _ticks(figures.dim - 1):
        yield panel.below(panel.at(dimension + 0.5, 0)[0], str(dimension))
    y = panel.top + panel.height + 32
    yield from canvas.colour_scale(panel.left, y, "−1", "1", 132)
    left_out = ", ".join(filter(None, [every(down, "position"), every(pairs, "pair")]))
    if left_out:
        right, baseline = panel.left + panel.width, y + canvas.SCALE_HEIGHT - 1
        yield Text(right, baseline, f"shown: {left_out}", SIZE, canvas.MUTED, "end")


def _waves(figures: PositionFigures, left: int, top: int) -> Iterator[Drawn]:
    """A strip for each of a few sines, with its period at the right."""
    dimensions = figures.waves()
    shown = min(figures.length, MOST_IN_WAVES)
    whole = Panel(left, top, 300, 225, shown - 1, -1, 1)
    yield whole.name(figures.waves_title(shown))
    pitch = whole.height / len(dimensions)
    for i, dimension in enumerate(dimensions):
        strip = Panel(left, top + i * pitch + 2, whole.width, pitch - 4, shown - 1, -1, 1)
        y = strip.at(0, 0)[1]
        yield Stroke([(left, y), (left + whole.width, y)], canvas.HAIRLINE, 1)
        yield strip.curve(figures.table[:shown, dimension].tolist(), canvas.BLUE, 1.6)
        yield strip.beside(y, f"dim {dimension}")
        period = f"period {figures.wavelengths[dimension // 2]:,.1f}"
        yield Text(left + 390, y + 4, period, SIZE, canvas.MUTED, "end")
    yield from whole.ticks()


def _products(figures: PositionFigures, panel: Panel) -> Iterator[Drawn]:
    """PE(p) · PE(p+k) over k; the lowest value may lie below 0 when there are few dimensions."""
    yield panel.name("PE(p) · PE(p+k) by distance k")
    yield from panel.hairlines([panel.y_end * part for part in (0, 0.25, 0.5, 0.75, 1)])
    yield panel.curve(figures.products.tolist(), canvas.BLUE, 2)
    for k, value in enumerate(figures.products.tolist() if figures.length <= DOTS_UP_TO else []):
        yield Tip(f"k = {k}: {value:.4f}", [Circle(*panel.at(k, value), DOT, canvas.BLUE)])
    yield from panel.ticks()


def _deviation(figures: PositionFigures, panel: Panel) -> Iterator[Drawn]:
    """Two lines, since a sine and its cosine need not spread alike."""
    yield panel.name("Standard deviation of each dimension")
    yield from panel.hairlines([0, 0.25, 0.5, 0.75, 1])
    for first, (name, colour) in enumerate((("sine", canvas.BLUE), ("cosine", canvas.ORANGE))):
        yield panel.curve(figures.deviation[first::2].tolist(), colour, 2, first, 2)
        x, y = panel.left + panel.width - 8, panel.top + 16 + 16 * first
        yield Text(x, y, name, SIZE, colour, "end")
    yield from panel.ticks()


def _ticks(last: int) -> list[int]:
    """About five round numbers from 0 up to `last`."""
    if last < 1:
        return [0]
    rough = last / 5
    unit = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    width = max(1, int(next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)))
    return list(range(0, last + 1, width))
