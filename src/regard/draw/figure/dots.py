"""Dot grids: weights and words go in, a grid whose dots grow with the weights comes out.

                 मुझे  आइसक्रीम  खाना      rows are looked at, columns look:
              I   ⬤      ·      ·        each column sums to 1
      ice-cream   ·      ⬤      •

In the terminal a dot has four sizes; in SVG and PNG its area is the weight. Colour says nothing
here, so the picture can be printed in black.
"""

import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.draw import palette
from regard.draw.figure import layout, svg
from regard.draw.figure.layout import Plan, plan
from regard.draw.figure.plot import map_words, page, save, write
from regard.draw.grid import Grid, make_grid, number
from regard.draw.labels import shorten_cells

DOTS, ASCII_DOTS = "·•●⬤", ".oO@"
BEGINS = (0.05, 0.25, 0.5)  # the weight from which the next larger dot is drawn
LONGEST_LABEL = 16  # terminal cells
GAP = 2  # terminal cells between two columns
WIDEST_DOT = 0.46  # radius of the weight 1, as a share of the cell
SAMPLES = (0.05, 0.25, 0.5, 1.0)  # the dots of the legend
SAMPLE_PITCH = 74.0
LEGEND_ROOM = 18.0
INK = {False: "#146d93", True: "#3aafb2"}  # by whether the page is dark


def dot_grid(
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    width: int,
) -> "DotGrid":
    """A dot grid for the terminal; too wide a one is split into blocks, one under another."""
    return DotGrid(make_grid(np.asarray(weights)[None], rows, columns, 1.0), title, width)


@dataclass(frozen=True)
class DotGrid:
    """The renderable that `dot_grid` returns: print it with any rich console."""

    grid: Grid
    title: str
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the narrower of `width` and the console."""
        ascii_only = options.ascii_only
        width = max(12, min(self.width, options.max_width))
        names = [_plain(shorten_cells(n, LONGEST_LABEL), ascii_only) for n in self.grid.rows]
        heads = [_plain(shorten_cells(n, LONGEST_LABEL), ascii_only) for n in self.grid.columns]
        margin = min(max(cell_len(name) for name in names), max(4, width // 3))
        names = [shorten_cells(name, margin) for name in names]
        lines = [Text(_plain(self.title, ascii_only), style="bold"), Text()] if self.title else []
        for part in _blocks([cell_len(head) for head in heads], width - margin):
            lines.append(Text(" " * margin + "".join(" " * GAP + heads[c] for c in part)))
            for row, name in enumerate(names):
                line = Text(" " * (margin - cell_len(name)) + name)
                for column in part:
                    line.append(" " * GAP)
                    fraction = self.grid.fraction(0, row, column)
                    line.append_text(_dot(fraction, cell_len(heads[column]), ascii_only))
                lines.append(line)
            lines.append(Text())
        lines.append(Text(" " * (margin + GAP) + _legend(ascii_only)))
        for line in lines:
            if line.style != "bold":  # the title may be broken, the picture may not
                line.no_wrap, line.overflow = True, "crop"
            line.rstrip()
            yield line


def _plain(text: str, ascii_only: bool) -> str:
    return text.encode("ascii", "backslashreplace").decode() if ascii_only else text


def _blocks(widths: Sequence[int], space: int) -> list[range]:
    """Columns that stand side by side, at least one in each block."""
    blocks, first, used = [], 0, 0
    for column, width in enumerate(widths):
        used += GAP + width
        if used > space and column > first:
            blocks.append(range(first, column))
            first, used = column, GAP + width
    return [*blocks, range(first, len(widths))]


def _dot(fraction: float, width: int, ascii_only: bool) -> Text:
    """A dot in the middle of its column; no value, no dot."""
    if math.isnan(fraction):
        return Text(" " * width)
    size = bisect_right(BEGINS, fraction)
    left = (width - 1) // 2
    dot = (ASCII_DOTS if ascii_only else DOTS)[size]
    text = Text(" " * left).append(dot, style="" if size else "dim")
    return text.append(" " * (width - 1 - left))


def _legend(ascii_only: bool) -> str:
    dots = ASCII_DOTS if ascii_only else DOTS
    larger = (f"{dot} {number(at)}" for dot, at in zip(dots[1:], BEGINS, strict=True))
    return f"{dots[0]} 0  " + "  ".join(larger) + (" ... 1" if ascii_only else " … 1")


def dots_svg(
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
) -> str:
    """The grid as one self-contained SVG document with a tooltip for each dot."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, 1.0)
    drawing = _plan(grid, title, subtitle)
    light, dark = _colours(palette.LIGHT, False), _colours(palette.DARK, True)
    style = f"{svg.sizes(drawing)}\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}"
    name = " ".join(drawing.title) or "Dot grid"
    parts = svg.opening(drawing.width, drawing.height, name, _in_words(grid), style)
    parts += [*svg.words(drawing), *svg.panel_labels(drawing, 0), *_svg_dots(grid, drawing)]
    return "\n".join([*parts, *_svg_samples(drawing), "</svg>"]) + "\n"


def _colours(theme: palette.Theme, dark: bool) -> str:
    return "".join(svg.surroundings(theme)) + (
        f".regard-map .cell{{fill:{theme.surface};stroke:{theme.hairline}}}"
        f".regard-map .cell:hover{{stroke:{theme.ink};stroke-width:1.5}}"
        f".regard-map .dot{{fill:{INK[dark]};pointer-events:none}}"
    )


def _svg_dots(grid: Grid, plan: Plan) -> Iterator[str]:
    """A framed cell with its tooltip, and on it the dot."""
    for row, name in enumerate(grid.rows):
        for column, other in enumerate(grid.columns):
            fraction = grid.fraction(0, row, column)
            value = float(grid.weights[0, row, column])
            told = "no value" if math.isnan(value) else f"{value:.3f}"
            x, y = plan.left + column * plan.cell, plan.top + row * plan.cell
            yield (
                f'<rect class="cell" x="{x:g}" y="{y:g}" width="{plan.cell:g}" '
                f'height="{plan.cell:g}"><title>{svg.escape(f"{other} → {name}: {told}")}</title>'
                "</rect>"
            )
            if not math.isnan(fraction):
                yield _circle(x + plan.cell / 2, y + plan.cell / 2, _radius(fraction, plan))


def _radius(fraction: float, plan: Plan) -> float:
    """Area in proportion to the weight: the eye compares areas, not diameters."""
    return math.sqrt(fraction) * WIDEST_DOT * plan.cell


def _circle(x: float, y: float, radius: float) -> str:
    return f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="{radius:.2f}"/>'


def _plan(grid: Grid, title: str, subtitle: str) -> Plan:
    """The plan of the heat map with more room below: the legend's dots are as large as the grid's.

    Also wide enough for all of them.
    """
    drawing = plan(grid, title, subtitle)
    reach = drawing.left + drawing.cell + (len(SAMPLES) - 1) * SAMPLE_PITCH + layout.PAD
    return replace(
        drawing,
        height=drawing.height + LEGEND_ROOM,
        width=max(drawing.width, float(math.ceil(reach))),
    )


def _samples(plan: Plan) -> Iterator[tuple[float, float, float, str]]:
    """Where each dot of the legend stands: x, y, radius and its number."""
    bottom = plan.top + len(plan.rows) * plan.cell
    y = bottom + 14 + WIDEST_DOT * plan.cell
    for i, sample in enumerate(SAMPLES):
        x = plan.left + WIDEST_DOT * plan.cell + i * SAMPLE_PITCH
        yield x, y, _radius(sample, plan), number(sample)


def _svg_samples(plan: Plan) -> Iterator[str]:
    for x, y, radius, said in _samples(plan):
        yield _circle(x, y, radius)
        yield f'<text class="small muted" x="{x + radius + 5:g}" y="{y + 4:g}">{said}</text>'


def _in_words(grid: Grid) -> str:
    """The grid for readers who do not see it: what each column looks at most."""
    told = [f"Dot grid of {len(grid.rows)} rows and {len(grid.columns)} columns"]
    for column, name in list(enumerate(grid.columns))[: svg.ROWS_IN_WORDS]:
        values = grid.weights[0, :, column]
        if np.isfinite(values).any():
            best = int(np.nanargmax(values))
            told.append(f"{name}: mostly {grid.rows[best]} ({values[best]:.3f})")
    return ". ".join(told) + "."


def dots_png(
    path: str | os.PathLike[str],
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str = "",
) -> None:
    """The grid as PNG, with the look (the very plan) of the SVG one, at two dots per pixel."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, 1.0)
    drawing = _plan(grid, title, subtitle)
    figure, axes = page(drawing)  # first: it says how to install matplotlib

    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Rectangle

    frames, circles = [], []
    for row in range(len(rows)):
        for column in range(len(columns)):
            fraction = grid.fraction(0, row, column)
            x, y = drawing.left + column * drawing.cell, drawing.top + row * drawing.cell
            frames.append(Rectangle((x, y), drawing.cell, drawing.cell))
            if not math.isnan(fraction):
                middle = (x + drawing.cell / 2, y + drawing.cell / 2)
                circles.append(Circle(middle, _radius(fraction, drawing)))
    for x, y, radius, said in _samples(drawing):
        circles.append(Circle((x, y), radius))
        write(axes, (x + radius + 5, y), said, layout.SMALL_SIZE, palette.LIGHT.muted, "left")
    hairline = palette.LIGHT.hairline
    axes.add_collection(
        PatchCollection(frames, facecolors="none", edgecolors=hairline, linewidths=0.6)
    )
    axes.add_collection(PatchCollection(circles, facecolors=INK[False], linewidths=0))
    map_words(axes, drawing)
    save(figure, path)
