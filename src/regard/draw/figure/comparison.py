"""Curves of several runs in one picture: points go in, a PNG or SVG file comes out, by matplotlib.

Each run has a colour and a marker of its own, so that they are told apart without colour too. Thin
and light: training, smoothed; with markers: validation.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from regard.draw import palette
from regard.draw.figure import plot
from regard.draw.figure.png import new_figure, save
from regard.draw.labels import visible
from regard.draw.terminal.line_chart import Point
from regard.printable import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = tuple[str, Sequence[Point], Sequence[Point]]  # name, at each step, at each validation
COLOURS = ("#146d93", "#d4562a", "#6a4c9c", "#3f8f3a", "#b58900", "#a3366b", "#4d4d4d", "#2aa198")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
SPIKES = 0.995  # a quantile: one exploding step does not set the scale


def comparison(
    path: str | os.PathLike[str],
    series: Sequence[Series],
    name: str,
    kind: Literal["png", "svg"] = "png",
    title: str = "",
    columns: int = 4,
) -> None:
    """Draw `name` over optimizer steps, a line for each run; the legend has so many columns."""
    figure = new_figure(*plot.INCHES)
    rows = -(-len(series) // columns)  # of the legend
    axes = figure.add_axes((0.07, 0.12, 0.89, 0.71 - 0.05 * rows))
    for number, one in enumerate(series):
        _draw(axes, one, COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
    values = [plot.smoothed(plot.points_of(steps)[:, 1]) for _, steps, _ in series if len(steps)]
    values += [plot.points_of(checks)[:, 1] for _, _, checks in series if len(checks)]
    plot.set_limits(axes, np.concatenate(values), SPIKES)
    plot.dress(axes)
    plot.caption(axes, name)
    axes.set_xlabel("optimizer step", color=palette.LIGHT.muted, fontsize=plot.WORDS)
    both = any(len(steps) for _, steps, _ in series) and any(len(c) for _, _, c in series)
    said = "line: training (smoothed) · markers: validation" if both else ""
    plot.write_words(figure, visible(title or counted(len(series), "run")), corner=said)
    handles = axes.get_legend_handles_labels()[0]
    shown = min(columns, len(series))
    plot.legend(figure, handles, shown, loc="upper left", bbox_to_anchor=(0.06, 0.915))
    save(figure, path, kind)


def _draw(axes: "Axes", series: Series, colour: str, marker: str) -> None:
    """One run: training as a light line, validation as a line with markers."""
    name, steps, checks = series
    if len(steps):
        points = plot.points_of(steps)
        width, alpha, label = (1.1, 0.55, "") if len(checks) else (2, 1.0, visible(name))
        line = points[:, 0], plot.smoothed(points[:, 1])
        axes.plot(*line, color=colour, linewidth=width, alpha=alpha, label=label)
    if len(checks):
        look = {"marker": marker, "markersize": 5, "linewidth": 1.8}
        plot.draw_checks(axes, plot.points_of(checks), visible(name), colour, **look)
