"""Positions as PNG: the figures go in, a file with the four panels of the SVG picture comes out."""

import os
from typing import TYPE_CHECKING

from regard.draw import palette
from regard.draw.figure.plot import new_figure, save
from regard.draw.figure.positions_svg import SERIES
from regard.draw.terminal.positions import MOST_IN_WAVES, PositionFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (9.6, 6.8)
MUTED, HAIRLINE = palette.LIGHT.muted, palette.LIGHT.hairline


def positions_png(path: str | os.PathLike[str], figures: PositionFigures) -> None:
    """Heat map, waves, PE·PE by distance and standard deviation, by matplotlib."""
    figure = new_figure(*INCHES)
    figure.text(0.025, 0.945, figures.title, fontsize=12.5, fontweight="bold")
    figure.text(0.025, 0.915, figures.formula, fontsize=8, color=MUTED)
    _field(figure.add_axes((0.06, 0.53, 0.41, 0.32)), figures)
    dimensions = figures.waves()
    high = 0.32 / len(dimensions)
    for i, dimension in enumerate(dimensions):
        strip = figure.add_axes((0.565, 0.85 - (i + 1) * high, 0.295, high * 0.92))
        last = i == len(dimensions) - 1
        _wave(strip, figures, dimension, last)
        if i == 0:
            _name(strip, figures.waves_title(min(figures.length, MOST_IN_WAVES)))
    _products(figure.add_axes((0.06, 0.08, 0.41, 0.32)), figures)
    _deviation(figure.add_axes((0.565, 0.08, 0.41, 0.32)), figures)
    save(figure, path)


def _field(axes: "Axes", figures: PositionFigures) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    colours = LinearSegmentedColormap.from_list("regard", palette.ANCHORS)
    image = axes.imshow(
        figures.table, cmap=colours, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    bar = axes.figure.colorbar(
        image, cax=axes.inset_axes((0.0, -0.17, 0.35, 0.04)), orientation="horizontal"
    )
    bar.set_ticks([-1, 0, 1])
    bar.ax.tick_params(length=0, colors=MUTED, labelsize=7.5)
    bar.outline.set_visible(False)
    _name(axes, "Table: positions down, dimensions across")
    _dress(axes)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(False)


def _wave(axes: "Axes", figures: PositionFigures, dimension: int, last: bool) -> None:
    axes.axhline(0, color=HAIRLINE, linewidth=0.8)
    shown = figures.table[:MOST_IN_WAVES, dimension]
    marker = "o" if len(shown) == 1 else ""
    axes.plot(shown, color=SERIES["sine"], linewidth=1.3, marker=marker, markersize=3)
    axes.set(ylim=(-1.15, 1.15), yticks=[])
    axes.set_xlim(0, max(1, len(shown) - 1))
    period = f"period {figures.wavelengths[dimension // 2]:,.1f}"
    for x, text, side in ((-0.02, f"dim {dimension}", "right"), (1.39, period, "right")):
        axes.text(
            x, 0.5, text, transform=axes.transAxes, ha=side, va="center", fontsize=8, color=MUTED
        )
    _dress(axes)
    axes.grid(False)
    axes.tick_params(labelbottom=last)


def _products(axes: "Axes", figures: PositionFigures) -> None:
    marker = "o" if figures.length <= 64 else ""
    axes.plot(figures.products, color=SERIES["sine"], linewidth=1.6, marker=marker, markersize=3.4)
    axes.set_ylim(min(0.0, float(figures.products.min())), figures.dim / 2 * 1.03)
    _name(axes, "PE(p) · PE(p+k) by distance k")
    _dress(axes)


def _deviation(axes: "Axes", figures: PositionFigures) -> None:
    for first, (name, colour) in enumerate(SERIES.items()):
        places = range(first, figures.dim, 2)
        axes.plot(places, figures.deviation[first::2], color=colour, linewidth=1.6, label=name)
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, fontsize=8, labelcolor="linecolor", loc="upper right")
    _name(axes, "Standard deviation of each dimension")
    _dress(axes)


def _name(axes: "Axes", text: str) -> None:
    axes.set_title(text, loc="left", fontsize=9.5, fontweight="bold", color=palette.LIGHT.ink)


def _dress(axes: "Axes") -> None:
    """Hairlines, no box, quiet numbers; there is no half position."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for side in axes.spines.values():
        side.set_visible(False)
    axes.grid(True, axis="y", color=HAIRLINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=MUTED, labelsize=8)
