"""Positions as SVG: the figures go in, one self-contained document with four panels comes out.

    table as a heat map      waves, one strip each
    PE·PE by distance        standard deviation by dimension

No scripts, fonts or images; colours follow the reader's light or dark mode.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from regard.draw import palette
from regard.draw.figure.svg import FONTS, escape, opening, surroundings
from regard.draw.terminal.positions import MOST_IN_WAVES, PositionFigures, every, step

WIDTH, HEIGHT = 960.0, 680.0
LEVELS = 32  # steps of the colour scale, each a CSS class
MOST_ROWS, MOST_PAIRS = 128, 128
OVERLAP = 0.4  # pixels; without it the page shines through where two cells meet
SERIES = {"sine": palette.TRAINING, "cosine": palette.VALIDATION}
SERIES_DARK = {"sine": "#3aafb2", "cosine": "#f08a5d"}


@dataclass(frozen=True)
class Panel:
    """A rectangle on the page and the numbers its edges stand for; y grows upwards."""

    left: float
    top: float
    width: float
    height: float
    x_end: float | int
    y_start: float | int
    y_end: float | int

    def at(self, x: float | int, y: float | int) -> tuple[float, float]:
        span = self.y_end - self.y_start
        return (
            self.left + self.width * x / max(1, self.x_end),
            self.top + self.height * (self.y_end - y) / span,
        )


def positions_svg(figures: PositionFigures) -> str:
    """Four panels that show what the sinusoids are like."""
    light, dark = _colours(palette.LIGHT, SERIES, False), _colours(palette.DARK, SERIES_DARK, True)
    style = (
        f".regard-map{{max-width:100%;height:auto;font-family:{FONTS}}}"
        ".regard-map .title{font-size:17px;font-weight:600}.regard-map .name{font-size:13px;"
        "font-weight:600}.regard-map .small{font-size:11px}.regard-map .end{text-anchor:end}"
        ".regard-map .middle{text-anchor:middle}.regard-map path{fill:none}"
        f"\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}"
    )
    told = (
        f"Heat map of the position vectors, a few of their waves, the product of two vectors by "
        f"distance (from {figures.products[0]:.4f} at 0), and the standard deviation of each "
        f"dimension (from {figures.deviation[0]:.4f} to {figures.deviation[-1]:.6f})."
    )
    parts = [
        *opening(WIDTH, HEIGHT, figures.title, told, style),
        _text(24, 38, figures.title, "title"),
        _text(24, 58, figures.formula, "small muted"),
        *_field(figures, 60.0, 100.0),
        *_waves(figures, 540.0, 100.0),
        *_products(figures, Panel(60, 420, 390, 205, figures.length - 1, 0, figures.dim / 2)),
        *_deviation(figures, Panel(540, 420, 390, 205, figures.dim - 1, 0, 1)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _colours(theme: palette.Theme, series: dict[str, str], dark: bool) -> str:
    rules = surroundings(theme)
    rules += [f".regard-map .grid{{stroke:{theme.hairline}}}"]
    rules += [f".regard-map .{name}{{stroke:{colour}}}" for name, colour in series.items()]
    rules += [f".regard-map .{name}-word{{fill:{colour}}}" for name, colour in series.items()]
    for level in range(LEVELS + 1):
        rules.append(f".regard-map .h{level}{{stroke:{palette.scale(level / LEVELS, dark=dark)}}}")
    return "".join(rules)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _field(figures: PositionFigures, left: float, top: float) -> Iterator[str]:
    """The table: one path for each colour, in which equal neighbours are one stroke downwards."""
    down, pairs = step(figures.length, MOST_ROWS), step(figures.dim // 2, MOST_PAIRS)
    columns = [d for d in range(figures.dim) if d // 2 % pairs == 0]
    shown = figures.table[::down][:, columns]
    levels = np.rint((shown + 1) / 2 * LEVELS).astype(int)
    left_out = ", ".join(filter(None, [every(down, "position"), every(pairs, "pair")]))
    yield _text(left, top - 12, "Table: positions down, dimensions across", "name")
    panel = Panel(left, top, 390, 225, figures.dim - 1, 0, figures.length)
    # A stroke as wide as a column, in units of one cell, stretched to the panel.
    across, high = 390 / len(columns), 225 / len(shown)
    yield f'<g transform="translate({left:g} {top:g}) scale({across:.5g} {high:.5g})">'
    yield f'<g stroke-width="{1 + OVERLAP / across:.3g}">'
    for level, strokes in sorted(_strokes(levels, OVERLAP / high).items()):
        yield f'<path class="h{level}" d="{strokes}"/>'
    yield "</g></g>"
    for position in _ticks(figures.length - 1):
        y = top + 225 * (position + 0.5) / figures.length
        yield _text(left - 6, y + 4, str(position), "small muted end")
    yield from _below(panel, _ticks(figures.dim - 1), 390 / figures.dim / 2)
    yield from _ramp(left, top + 225 + 32, left_out)


def _strokes(levels: Int[np.ndarray, "rows columns"], extra: float) -> dict[int, str]:
    """Colour → path data: `Mx yvn` is a stroke over n cells of one column, and a little more."""
    paths: dict[int, list[str]] = {}
    for column in range(levels.shape[1]):
        values = levels[:, column]
        ends = [*np.flatnonzero(np.diff(values)) + 1, len(values)]
        first = 0
        for end in (int(e) for e in ends):
            paths.setdefault(int(values[first]), []).append(
                f"M{column}.5 {first}v{end - first + extra:.3g}"
            )
            first = end
    return {level: "".join(strokes) for level, strokes in paths.items()}


def _ramp(left: float, y: float, left_out: str) -> Iterator[str]:
    """What the colours mean."""
    yield _text(left, y + 9, "−1", "small muted")
    for level in range(LEVELS + 1):
        x = left + 20 + level * 4 + 2
        yield f'<path class="h{level}" stroke-width="4.2" d="M{x:g} {y:g}v10"/>'
    yield _text(left + 20 + 4 * LEVELS + 12, y + 9, "1", "small muted")
    if left_out:
        yield _text(left + 390, y + 9, f"shown: {left_out}", "small muted end")


def _waves(figures: PositionFigures, left: float, top: float) -> Iterator[str]:
    """A strip for each of a few sines, with its period at the right."""
    dimensions = figures.waves()
    pitch = 225 / len(dimensions)
    shown = min(figures.length, MOST_IN_WAVES)
    yield _text(left, top - 12, figures.waves_title(shown), "name")
    for i, dimension in enumerate(dimensions):
        strip = Panel(left, top + i * pitch + 2, 300, pitch - 4, shown - 1, -1, 1)
        yield _line([strip.at(0, 0), (left + 300, strip.at(0, 0)[1])], "grid", 1)
        yield _line(_points(strip, figures.table[:shown, dimension]), "sine", 1.6)
        y = strip.at(0, 0)[1] + 4
        yield _text(left - 6, y, f"dim {dimension}", "small muted end")
        yield _text(left + 390, y, _period(figures, dimension), "small muted end")
    yield from _below(Panel(left, top, 300, 225, shown - 1, -1, 1), _ticks(shown - 1))


def _period(figures: PositionFigures, dimension: int) -> str:
    return f"period {figures.wavelengths[dimension // 2]:,.1f}"


def _products(figures: PositionFigures, panel: Panel) -> Iterator[str]:
    """PE(p) · PE(p+k) over k; the lowest value may lie below 0 when there are few dimensions."""
    lowest = min(0.0, float(figures.products.min()))
    panel = Panel(panel.left, panel.top, 390, panel.height, panel.x_end, lowest, panel.y_end)
    yield _text(panel.left, panel.top - 14, "PE(p) · PE(p+k) by distance k", "name")
    yield from _grid(panel, [panel.y_end * part for part in (0, 0.25, 0.5, 0.75, 1)])
    yield _line(_points(panel, figures.products), "sine", 2)
    if figures.length <= 64:
        for k, value in enumerate(figures.products):
            x, y = panel.at(k, float(value))
            told = f"<title>k = {k}: {value:.4f}</title>"
            yield f'<circle class="sine-word" cx="{x:.1f}" cy="{y:.1f}" r="2.6">{told}</circle>'
    yield from _below(panel, _ticks(figures.length - 1))


def _deviation(figures: PositionFigures, panel: Panel) -> Iterator[str]:
    """Two lines, since a sine and its cosine need not spread alike."""
    yield _text(panel.left, panel.top - 14, "Standard deviation of each dimension", "name")
    yield from _grid(panel, [0, 0.25, 0.5, 0.75, 1])
    for first, series in enumerate(SERIES):
        values = figures.deviation[first::2]
        points = [panel.at(2 * i + first, float(v)) for i, v in enumerate(values)]
        yield _line(points, series, 2)
        y = panel.top + 16 + 16 * first
        yield _text(panel.left + 382, y, series, f"small end {series}-word")
    yield from _below(panel, _ticks(figures.dim - 1))


def _points(panel: Panel, values: Float[np.ndarray, " points"]) -> list[tuple[float, float]]:
    return [panel.at(i, float(value)) for i, value in enumerate(values)]


def _line(points: Sequence[tuple[float, float]], kind: str, width: float | int) -> str:
    """A curve; a single point becomes a dot, thanks to round ends."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (points if len(points) > 1 else [*points] * 2))
    ends = 'stroke-linejoin="round" stroke-linecap="round"'
    return f'<path class="{kind}" stroke-width="{width:g}" {ends} d="M{path}"/>'


def _grid(panel: Panel, values: Sequence[float | int]) -> Iterator[str]:
    """Hairlines with their numbers at the left."""
    for value in values:
        x, y = panel.at(0, value)
        yield _line([(x, y), (x + panel.width, y)], "grid", 1)
        yield _text(x - 6, y + 4, f"{value:g}", "small muted end")


def _below(panel: Panel, ticks: Sequence[int], shift: float = 0.0) -> Iterator[str]:
    """Numbers under the panel; with cells their middles, not their edges, are meant."""
    for tick in ticks:
        x = panel.at(tick, panel.y_start)[0] if not shift else _middle(panel, tick, shift)
        yield _text(x, panel.top + panel.height + 16, str(tick), "small muted middle")


def _middle(panel: Panel, tick: int, half: float) -> float:
    return panel.left + (2 * tick + 1) * half


def _ticks(last: int) -> list[int]:
    """About five round numbers from 0 up to `last`."""
    if last < 1:
        return [0]
    rough = last / 5
    unit = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    width = max(1, int(next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)))
    return list(range(0, last + 1, width))
