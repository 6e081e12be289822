"""Curves of several runs in one picture: points go in, a PNG or SVG file comes out, by matplotlib.

Each run has a colour and a marker of its own, so that they are told apart without colour too. Thin
and light: training, smoothed; with markers: validation.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from regard.draw import palette
from regard.draw.figure.curve import caption, dress, name_a_lone_point, points_of, smoothed
from regard.draw.figure.plot import CURVE_INCHES, new_figure, save
from regard.draw.labels import visible
from regard.draw.terminal.line_chart import Point

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
    figure = new_figure(*CURVE_INCHES)
    rows = -(-len(series) // columns)  # of the legend
    axes = figure.add_axes((0.07, 0.12, 0.89, 0.71 - 0.05 * rows))
    for number, one in enumerate(series):
        _draw(axes, one, COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
    _limits(axes, series)
    dress(axes)
    caption(axes, name)
    axes.set_xlabel("optimizer step", color=palette.LIGHT.muted, fontsize=9.5)
    words = visible(title or f"{len(series)} run{'s' * (len(series) != 1)}")
    figure.text(0.07, 0.925, words, fontsize=13, fontweight="bold", color=palette.LIGHT.ink)
    both = any(len(steps) for _, steps, _ in series) and any(len(c) for _, _, c in series)
    if both:
        said = "line: training (smoothed) · markers: validation"
        figure.text(0.96, 0.02, said, fontsize=9.5, color=palette.LIGHT.muted, ha="right")
    figure.legend(
        handles=axes.get_legend_handles_labels()[0],
        loc="upper left",
        bbox_to_anchor=(0.06, 0.915),
        ncols=min(columns, len(series)),
        frameon=False,
        fontsize=9.5,
        labelcolor=palette.LIGHT.ink,
    )
    save(figure, path, kind)


def _draw(axes: "Axes", series: Series, colour: str, marker: str) -> None:
    """One run: training as a light line, validation as a line with markers."""
    name, steps, checks = series
    if len(steps):
        points = points_of(steps)
        axes.plot(
            points[:, 0],
            smoothed(points[:, 1]),
            color=colour,
            linewidth=1.1 if len(checks) else 2,
            alpha=0.55 if len(checks) else 1.0,
            label="" if len(checks) else visible(name),
        )
    if len(checks):
        points = points_of(checks)
        axes.plot(
            points[:, 0],
            points[:, 1],
            color=colour,
            marker=marker,
            markersize=5,
            markeredgecolor=palette.LIGHT.surface,
            linewidth=1.8,
            label=visible(name),
        )
        name_a_lone_point(axes, points, colour)


def _limits(axes: "Axes", series: Sequence[Series]) -> None:
    values = [smoothed(points_of(steps)[:, 1]) for _, steps, _ in series if len(steps)]
    values += [points_of(checks)[:, 1] for _, _, checks in series if len(checks)]
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    if every.size:
        low, high = float(every.min()), float(np.quantile(every, SPIKES))
        space = (high - low) * 0.06 or max(abs(high) * 0.1, 1e-9)
        axes.set_ylim(max(0.0, low - space) if low >= 0 else low - space, high + space)
