"""PNG pictures: numbers go in, a file comes out, by matplotlib (the optional extra `train`).

matplotlib is imported inside functions and only as objects (a Figure on an Agg canvas), so nothing
global changes and threads do not meet. Files appear whole or not at all: each is written under a
temporary name and renamed.
"""

import math
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from regard import atomic
from regard.draw import palette
from regard.draw.figure import layout
from regard.draw.figure.curve import (
    best_in_words,
    draw_learning_rate,
    draw_losses,
    draw_score,
    points_of,
)
from regard.draw.figure.fonts import say_once, set_fonts
from regard.draw.figure.layout import Plan, plan
from regard.draw.grid import Grid, make_grid, number
from regard.draw.labels import visible
from regard.draw.terminal.line_chart import Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 200
PIXELS_PER_INCH = 100  # the plan's pixels, so a PNG has twice as many
POINTS = 72 / PIXELS_PER_INCH  # size of one of the plan's pixels
CURVE_INCHES = (9.0, 5.2)


_ONE_AT_A_TIME = threading.Lock()


class MissingMatplotlib(ImportError):
    """Drawing PNG files needs matplotlib, which is not installed."""


def loss_curve_png(
    path: str | os.PathLike[str],
    steps: Sequence[float | int],
    losses: Sequence[float | int],
    validation: Sequence[Point] = (),
    score: Sequence[Point] = (),
    learning_rate: Sequence[float | int] | None = None,
    *,
    title: str = "Training",
    name: str = "",
    score_name: str = "BLEU",
    unit: str = "nats per token",
) -> None:
    """Loss over optimizer steps: raw (light) and smoothed; validation; a score on the right axis.

    `learning_rate`, one per step, gets a strip of its own below. NaN leaves a gap. The title says
    what was trained; `name`, of the run's folder, comes below it.
    """
    if len(steps) != len(losses) or (
        learning_rate is not None and len(learning_rate) != len(steps)
    ):
        rates = "none" if learning_rate is None else str(len(learning_rate))
        raise ValueError(
            f"loss curve: got {len(steps)} steps, {len(losses)} losses, {rates} learning rates; "
            "expected as many of each"
        )
    figure = new_figure(*CURVE_INCHES)
    x, y = np.asarray(steps, dtype=float), np.asarray(losses, dtype=float)
    bottom = 0.3 if learning_rate is not None else 0.12
    axes = figure.add_axes((0.07, bottom, 0.86, 0.77 - bottom))
    draw_losses(axes, x, y, points_of(validation), unit)
    handles = axes.get_legend_handles_labels()[0]
    if len(score):
        right = axes.twinx()
        draw_score(right, points_of(score), score_name)
        handles += right.get_legend_handles_labels()[0]
    lowest = axes
    if learning_rate is not None:
        axes.tick_params(labelbottom=False)
        lowest = figure.add_axes((0.07, 0.12, 0.86, 0.12), sharex=axes)
        draw_learning_rate(lowest, x, np.asarray(learning_rate, dtype=float))
    lowest.set_xlabel("optimizer step", color=palette.LIGHT.muted, fontsize=9.5)
    below = [visible(name), best_in_words(validation, score, score_name)]
    _curve_words(figure, title, "  ·  ".join(words for words in below if words), handles)
    save(figure, path)


def heatmap_png(
    path: str | os.PathLike[str],
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str = "",
    *,
    maximum: float | int | None = 1.0,
) -> None:
    """One attention map with the look (the very plan) of the SVG one, at two dots per pixel."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, maximum)
    drawing = plan(grid, title, subtitle)
    figure, axes = page(drawing)
    _map_cells(axes, grid, drawing)
    map_words(axes, drawing)
    _map_scale(axes, grid, drawing)
    save(figure, path)


def _curve_words(figure: "Figure", title: str, subtitle: str, handles: "Sequence[Artist]") -> None:
    """Title and subtitle, and the legend above the axes at the right, never over the data."""
    theme = palette.LIGHT
    figure.text(0.07, 0.925, visible(title), fontsize=13, fontweight="bold", color=theme.ink)
    figure.text(0.07, 0.875, subtitle, fontsize=9.5, color=theme.muted)
    figure.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(0.94, 0.765),
        ncols=4,
        frameon=False,
        fontsize=9.5,
        labelcolor=theme.ink,
    )


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure in inches, on its own Agg canvas."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingMatplotlib(
            "PNG pictures need matplotlib, which is not installed; "
            'install it with: pip install "regard[train]"'
        ) from missing
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor=palette.LIGHT.surface)
    FigureCanvasAgg(figure)
    return figure


def page(plan: Plan) -> "tuple[Figure, Axes]":
    """A figure with one invisible pair of axes, whose units are the pixels of the plan."""
    figure = new_figure(plan.width / PIXELS_PER_INCH, plan.height / PIXELS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, plan.width), ylim=(plan.height, 0))
    return figure, axes


def save(
    figure: "Figure", path: str | os.PathLike[str], kind: Literal["png", "svg"] = "png"
) -> None:
    """Render in memory, then write whole or not at all."""
    sentences = set_fonts(figure)
    if kind == "png" and sentences:
        sentences = [f"{sentence}, or take --svg" for sentence in sentences]
    say_once(sentences, str(path))
    picture = BytesIO()
    with _svg_with_text(), warnings.catch_warnings():
        # What no font has was said in a sentence.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        said = {"Software": "regard"} if kind == "png" else {"Creator": "regard", "Date": None}
        figure.savefig(picture, format=kind, dpi=DOTS_PER_INCH, metadata=said)
    atomic.write_bytes(Path(path), picture.getvalue())


@contextmanager
def _svg_with_text() -> Iterator[None]:
    """Text of an SVG stays text: it can be searched, copied and read aloud; ids stay the same.

    matplotlib has only global settings for that; they are put back, and one picture is drawn at a
    time.
    """
    from matplotlib import rc_context

    with _ONE_AT_A_TIME, rc_context({"svg.fonttype": "none", "svg.hashsalt": "regard"}):
        yield


def _map_cells(axes: "Axes", grid: Grid, plan: Plan) -> None:
    """One square per weight, with its number in a small map."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    squares, colours = [], []
    for row in range(len(grid.rows)):
        for column in range(len(grid.columns)):
            fraction = grid.fraction(0, row, column)
            colour = palette.LIGHT.missing if math.isnan(fraction) else palette.scale(fraction)
            x, y = plan.left + column * plan.cell, plan.top + row * plan.cell
            squares.append(Rectangle((x, y), plan.cell - 1, plan.cell - 1))
            colours.append(colour)
            if plan.numbered:
                loud = fraction >= layout.NEXT_TO_NOTHING
                ink = palette.ink_on(colour) if loud else palette.LIGHT.muted
                value = number(float(grid.weights[0, row, column]))
                write(axes, (x + plan.cell / 2, y + plan.cell / 2), value, 11.5, ink, "center")
    axes.add_collection(PatchCollection(squares, facecolors=colours, linewidths=0))


def map_words(axes: "Axes", plan: Plan) -> None:
    """Title, subtitle, row and column labels at the places of the plan."""
    theme, y = palette.LIGHT, layout.PAD - 6
    for line in plan.title:
        y += 24
        write(axes, (layout.PAD, y - 10), line, layout.TITLE_SIZE * 0.92, theme.ink, "bold left")
    for line in plan.subtitle:
        y += 19
        write(axes, (layout.PAD, y - 6), line, layout.SUBTITLE_SIZE * 0.92, theme.muted, "left")
    for row, label in enumerate(plan.rows):
        place = plan.left - layout.LABEL_GAP, plan.top + (row + 0.5) * plan.cell
        write(axes, place, label, plan.font * 0.92, theme.ink, "right")
    for column, label in enumerate(plan.columns):
        x, y = plan.label_point(0, column)
        write(axes, (x, y), label, plan.font * 0.92, theme.ink, "label", plan.angle)


def _map_scale(axes: "Axes", grid: Grid, plan: Plan) -> None:
    """The colour scale from 0 to the maximum."""
    ramp = np.array([[palette.channels(palette.scale(step / 255)) for step in range(256)]])
    x, y = plan.left + 14, plan.scale_top
    end = x + layout.SCALE_WIDTH
    axes.imshow(ramp.astype(np.uint8), extent=(x, end, y + layout.SCALE_HEIGHT, y), aspect="auto")
    axes.set(xlim=(0, plan.width), ylim=(plan.height, 0))
    middle, size = y + layout.SCALE_HEIGHT / 2, layout.SMALL_SIZE * 0.92
    write(axes, (plan.left, middle), "0", size, palette.LIGHT.muted, "left")
    write(axes, (end + 7, middle), number(grid.maximum), size, palette.LIGHT.muted, "left")


def write(
    axes: "Axes", at: Point, text: str, size: float, colour: str, how: str, angle: int = 0
) -> None:
    """Text of `size` pixels: its left, right or centre at a point, or a turned column label."""
    weight = "bold" if how.startswith("bold") else "normal"
    across: Literal["left", "right", "center"] = "left"
    down: Literal["bottom", "center_baseline"] = "center_baseline"
    if how == "right":
        across = "right"
    elif how == "center" or (how == "label" and angle != 45):
        across = "center"
    if how == "label":
        down = "bottom"
    axes.text(
        at[0],
        at[1],
        text,
        fontsize=size * POINTS,
        color=colour,
        fontweight=weight,
        ha=across,
        va=down,
        rotation=angle,
        rotation_mode="default",
    )
