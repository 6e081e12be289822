"""A chart of what was measured: lines over numbers, or bars over names, each with its spread.

Numbers go in as means and spreads (standard deviations over seeds), a picture comes out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Colour, Drawn, Number, Picture, Rect, Stroke, Text, Tip
from regard.draw.labels import ems, shorten_ems, visible

WIDTH, HEIGHT = 720.0, 300.0  # of the space between the axes
LEFT, RIGHT = 64.0, 24.0  # beside it
COLOURS = (
    canvas.BLUE,
    canvas.ORANGE,
    Colour("#6a4c9c", "#a893d6"),
    Colour("#3f8f3a", "#7cc576"),
    Colour("#b58900", "#d9b44a"),
    Colour("#a3366b", "#dd7fa9"),
)
DOT = 3.6
SMALLEST = 1e-12  # what stands for 0 on an axis of powers


@dataclass(frozen=True)
class Measurements:
    """A name and its points; of a chart with names below, point x is the number of a name."""

    name: str
    points: Sequence[tuple[float, float]]
    spreads: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    """What is drawn, in words and numbers."""

    title: str
    subtitle: str
    across: str  # what x counts
    up: str  # what y counts
    lines: Sequence[Measurements]
    names: Sequence[str] = ()  # below the axis: bars instead of lines
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class AxisScale:
    """Numbers → pixels, by themselves or by their logarithm."""

    low: float
    high: float
    start: float
    length: float
    log: bool

    def at(self, value: float) -> float:
        low, high, here = (self._along(x) for x in (self.low, self.high, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return self.start + self.length * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Round numbers between the ends: powers of ten, or about five equal steps."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            powers = [10.0**power for power in range(first, last + 1, max(1, (last - first) // 6))]
            return [x for x in powers if self.low * 0.999 <= x <= self.high * 1.001]
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * 0.999)
        ends = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(ends[0], ends[1] + 1)]

    def _along(self, value: float) -> float:
        return math.log10(max(value, SMALLEST)) if self.log else value


def draw_chart(chart: Chart) -> Picture:
    """Title, legend, axes, and lines or bars."""
    heading = canvas.heading(visible(chart.title), visible(chart.subtitle))
    shapes: list[Drawn] = [*heading.texts()]
    top = heading.bottom + 14
    if len(chart.lines) > 1:
        legend, top = _legend([line.name for line in chart.lines], top)
        shapes += legend
    top += 38
    left, bottom = canvas.PAD + LEFT, top + HEIGHT
    up = _up_scale(chart, top)
    shapes.append(Text(canvas.PAD, top - 14, visible(chart.up), canvas.SMALL_SIZE, canvas.MUTED))
    for value in up.ticks():
        y = up.at(value)
        shapes.append(Stroke([(left, y), (left + WIDTH, y)], canvas.HAIRLINE, 1))
        shapes.append(Text(left - 8, y + 4, f"{value:.4g}", canvas.SMALL_SIZE, canvas.MUTED, "end"))
    shapes += _bars(chart, up, left) if chart.names else _lines(chart, up, left)
    middle = left + WIDTH / 2
    label = Text(
        middle, bottom + 40, visible(chart.across), canvas.SMALL_SIZE, canvas.MUTED, "middle"
    )
    shapes.append(label)
    width = max(left + WIDTH + RIGHT, heading.right) + canvas.PAD
    return Picture(width, bottom + 40 + canvas.PAD, chart.title, _in_words(chart), shapes)


def _legend(names: Sequence[str], top: float) -> tuple[list[Drawn], float]:
    """A square and a name for each line; as many rows as they need."""
    shapes: list[Drawn] = []
    x, y = canvas.PAD, top + 10
    for number, name in enumerate(names):
        width = 18 + ems(visible(name)) * canvas.SMALL_SIZE + 18
        if x + width > canvas.PAD + LEFT + WIDTH and x > canvas.PAD:
            x, y = canvas.PAD, y + 18
        shapes.append(Rect(x, y - 9, 10, 10, COLOURS[number % len(COLOURS)]))
        shapes.append(Text(x + 16, y, visible(name), canvas.SMALL_SIZE))
        x += width
    return shapes, y


def _up_scale(chart: Chart, top: float) -> AxisScale:
    """From 0 where all is above it, or from the lowest; powers of ten where that is asked for."""
    ends = [
        value + sign * spread
        for line in chart.lines
        for (_, value), spread in zip(line.points, _spreads(line), strict=True)
        for sign in (-1, 1)
        if math.isfinite(value)
    ]
    if chart.log_y:
        values = [y for line in chart.lines for _, y in line.points if y > SMALLEST]
        low = 10.0 ** math.floor(math.log10(min(values, default=1.0)))
        high = 10.0 ** math.ceil(math.log10(max(values, default=10.0)) + 1e-9)
        return AxisScale(low, max(high, low * 10), top + HEIGHT, -HEIGHT, log=True)
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = (high - low) * 0.05 or 1.0
    return AxisScale(low if low == 0 else low - room, high + room, top + HEIGHT, -HEIGHT, log=False)


def _spreads(line: Measurements) -> Sequence[float]:
    return line.spreads or [0.0] * len(line.points)


def _lines(chart: Chart, up: AxisScale, left: float) -> Iterator[Drawn]:
    xs = sorted({x for line in chart.lines for x, _ in line.points})
    across = AxisScale(xs[0], xs[-1], left + 12, WIDTH - 24, chart.log_x)
    for x in xs if len(xs) <= 12 else across.ticks():
        place = across.at(x), up.start + 18
        yield Text(*place, f"{x:,.4g}", canvas.SMALL_SIZE, canvas.MUTED, "middle")
    for number, line in enumerate(chart.lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [(across.at(x), up.at(y)) for x, y in line.points]
        if len(places) > 1:
            yield Stroke(places, colour, 2)
        for (x, y), spread, place in zip(line.points, _spreads(line), places, strict=True):
            if spread:
                yield _whisker(up, place[0], y, spread, colour)
            dot = canvas.Circle(*place, DOT, colour)
            yield Tip(f"{visible(line.name)}, {x:g}: {y:.4g}", [dot])


def _bars(chart: Chart, up: AxisScale, left: float) -> Iterator[Drawn]:
    """Beside each other for each name."""
    pitch = WIDTH / len(chart.names)
    wide = min(64.0, pitch * 0.8 / len(chart.lines))
    for place, name in enumerate(chart.names):
        middle = left + (place + 0.5) * pitch
        said = shorten_ems(visible(name), pitch / canvas.SMALL_SIZE)
        yield Text(middle, up.start + 18, said, canvas.SMALL_SIZE, canvas.MUTED, "middle")
    zero = up.at(max(0.0, up.low))
    for number, line in enumerate(chart.lines):
        colour = COLOURS[number % len(COLOURS)]
        for (x, y), spread in zip(line.points, _spreads(line), strict=True):
            middle = left + (x + 0.5) * pitch + (number - (len(chart.lines) - 1) / 2) * wide
            end = up.at(y)
            box = Rect(
                middle - wide / 2 + 1, min(zero, end), wide - 2, max(1.0, abs(zero - end)), colour
            )
            yield Tip(f"{visible(line.name)}: {y:.4g}", [box])
            if spread:
                yield _whisker(up, middle, y, spread, canvas.INK)
            number_y = min(zero, up.at(y + spread)) - 5
            yield Text(middle, number_y, f"{y:.3g}", canvas.SMALL_SIZE, anchor="middle")


def _whisker(up: AxisScale, x: Number, y: float, spread: float, colour: Colour) -> Stroke:
    return Stroke([(x, up.at(y - spread)), (x, up.at(y + spread))], colour, 1.4)


def _in_words(chart: Chart) -> str:
    """For those who do not see it."""
    parts = []
    for line in chart.lines:
        names = [chart.names[int(x)] if chart.names else f"{x:g}" for x, _ in line.points]
        said = ", ".join(f"{n}: {y:.4g}" for n, (_, y) in zip(names, line.points, strict=True))
        parts.append(f"{line.name}: {said}")
    return visible(f"{chart.up} by {chart.across}. " + "; ".join(parts) + ".")
