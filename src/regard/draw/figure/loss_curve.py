"""The picture of a training: losses, a score and learning rates go in, a PNG file comes out.

Also what every plot of regard shares: its look, its words and the smoothing of a line.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from regard.draw import palette
from regard.draw.figure.png import new_figure, save
from regard.draw.labels import visible
from regard.draw.terminal.line_chart import Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE_INCHES = (9.0, 5.2)
WORDS = 9.5  # size of all but the title, in points


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
    _draw_losses(axes, x, y, points_of(validation), unit)
    handles = axes.get_legend_handles_labels()[0]
    if len(score):
        right = axes.twinx()
        _draw_score(right, points_of(score), score_name)
        handles += right.get_legend_handles_labels()[0]
    lowest = axes
    if learning_rate is not None:
        axes.tick_params(labelbottom=False)
        lowest = figure.add_axes((0.07, 0.12, 0.86, 0.12), sharex=axes)
        _draw_learning_rate(lowest, x, np.asarray(learning_rate, dtype=float))
    lowest.set_xlabel("optimizer step", color=palette.LIGHT.muted, fontsize=WORDS)
    below = [visible(name), best_in_words(validation, score, score_name)]
    write_words(figure, visible(title), "  ·  ".join(words for words in below if words))
    legend(figure, handles, 4, loc="lower right", bbox_to_anchor=(0.94, 0.765))
    save(figure, path)


def write_words(figure: "Figure", title: str, subtitle: str = "", corner: str = "") -> None:
    """Title and subtitle at the top, and what the lines mean in the lower right corner."""
    theme = palette.LIGHT
    figure.text(0.07, 0.925, title, fontsize=13, fontweight="bold", color=theme.ink)
    figure.text(0.07, 0.875, subtitle, fontsize=WORDS, color=theme.muted)
    figure.text(0.96, 0.02, corner, fontsize=WORDS, color=theme.muted, ha="right")


def legend(figure: "Figure", handles: "Sequence[Artist]", columns: int, **place: Any) -> None:
    """Above the axes, never over the data."""
    ink = palette.LIGHT.ink
    look: dict[str, Any] = {"frameon": False, "fontsize": WORDS, "labelcolor": ink}
    figure.legend(handles=handles, ncols=columns, **look, **place)


def points_of(pairs: Sequence[Point]) -> Float[np.ndarray, "points 2"]:
    return np.asarray(pairs, dtype=float).reshape(-1, 2)


def _draw_losses(
    axes: "Axes",
    x: Float[np.ndarray, " steps"],
    y: Float[np.ndarray, " steps"],
    checks: Float[np.ndarray, "points 2"],
    unit: str,
) -> None:
    """Raw and smoothed training loss, validation points, and limits that one spike cannot set."""
    smooth = smoothed(y)
    # A point with a gap on both sides has no line, so a short series also gets dots.
    marker = "o" if np.isfinite(y).sum() < 20 else ""
    axes.plot(x, y, color=palette.TRAINING_RAW, linewidth=0.9, zorder=2)
    dots: dict[str, Any] = {"marker": marker, "markersize": 4}
    axes.plot(x, smooth, color=palette.TRAINING, linewidth=2, zorder=3, label="training", **dots)
    if len(checks):
        look = {"markersize": 5.5, "linewidth": 1, "zorder": 4}
        draw_checks(axes, checks, "validation", palette.VALIDATION, **look)
    finite = y[np.isfinite(y)]
    usual = np.quantile(finite, (0.005, 0.995)) if finite.size else np.array([])
    set_limits(axes, np.concatenate([smooth, checks[:, 1], usual]), 1.0)
    dress(axes)
    caption(axes, f"loss ({unit})" if unit else "loss")


def draw_checks(
    axes: "Axes", points: Float[np.ndarray, "points 2"], name: str, colour: str, **look: Any
) -> None:
    """What was measured now and then, as a line with markers; a single point tells its value."""
    edge = palette.LIGHT.surface
    shown = {"marker": "o", "markeredgecolor": edge, **look}
    axes.plot(points[:, 0], points[:, 1], color=colour, label=name, **shown)
    _name_a_lone_point(axes, points, colour)


def set_limits(axes: "Axes", values: Float[np.ndarray, " values"], highest: float) -> None:
    """Room for all values up to a quantile: one exploding step does not set the scale."""
    finite = values[np.isfinite(values)]
    if finite.size:
        low, high = float(finite.min()), float(np.quantile(finite, highest))
        room = (high - low) * 0.06 or abs(high) * 0.1 or 0.1
        axes.set_ylim(max(0.0, low - room) if low >= 0 else low - room, high + room)


def smoothed(values: Float[np.ndarray, " steps"]) -> Float[np.ndarray, " steps"]:
    """Centred mean over about a fortieth of the run: no lag, gaps (NaN) stay gaps.

    What is further than three deviations from its surroundings is first drawn nearer, twice, so
    that one exploding step makes no plateau as wide as the window.
    """
    finite = np.isfinite(values)
    filled = np.where(finite, values, 0.0)
    for _ in range(2):
        means = _window_means(filled, finite)
        spread = np.sqrt(np.maximum(0.0, _window_means(filled**2, finite) - means**2))
        filled = np.where(finite, np.clip(filled, means - 3 * spread, means + 3 * spread), 0.0)
    return np.where(finite, _window_means(filled, finite), np.nan)


def _window_means(
    filled: Float[np.ndarray, " steps"], finite: Bool[np.ndarray, " steps"]
) -> Float[np.ndarray, " steps"]:
    """Mean of the known values around each place.

    Windows shrink towards the start, where the loss falls too fast to average much of it. At the
    end they keep their width and stop moving: there it hardly falls, and the mean of a few steps
    would dive or shoot with the last of them.
    """
    length = len(filled)
    half = length // 80
    places = np.arange(length)
    reach = np.clip(places, half // 4, half)
    last = np.minimum(length, places + reach + 1)
    first = np.maximum(0, np.minimum(places - reach, last - 2 * reach - 1))
    sums = np.concatenate([[0.0], np.cumsum(filled)])
    counts = np.concatenate([[0], np.cumsum(finite)])
    means: Float[np.ndarray, " steps"] = (sums[last] - sums[first]) / np.maximum(
        1, counts[last] - counts[first]
    )
    return means


def _draw_score(right: "Axes", points: Float[np.ndarray, "points 2"], name: str) -> None:
    """A score, from 0 to a little over its best, on an axis of its own colour at the right."""
    look: dict[str, Any] = {"marker": "D", "markersize": 4.5, "linestyle": (0, (4, 2))}
    edge = {"markeredgecolor": palette.BLEU, "linewidth": 1.2}
    draw_checks(right, points, f"{name} (right)", palette.BLEU, **look, **edge)
    finite = points[np.isfinite(points[:, 1]), 1]
    right.set_ylim(0, max(1.0, float(finite.max()) * 1.15 if finite.size else 1.0))
    dress(right)
    right.grid(False)
    right.set_ylabel(name, color=palette.BLEU, fontsize=WORDS)
    right.tick_params(axis="y", colors=palette.BLEU)


def _name_a_lone_point(axes: "Axes", points: Float[np.ndarray, "points 2"], colour: str) -> None:
    """Where there is but one, no line shows it: its value stands beside it."""
    if len(points) != 1:
        return
    step, value = points[0]
    axes.annotate(
        f"{value:.4g} at step {step:,.0f}",
        (step, value),
        xytext=(-8, 8),
        textcoords="offset points",
        ha="right",
        color=colour,
        fontsize=WORDS,
    )


def _draw_learning_rate(
    strip: "Axes", x: Float[np.ndarray, " steps"], rates: Float[np.ndarray, " steps"]
) -> None:
    strip.fill_between(x, rates, color=palette.LIGHT.hairline, linewidth=0)
    strip.plot(x, rates, color=palette.LIGHT.muted, linewidth=1.2)
    dress(strip)
    strip.set_ylim(bottom=0)
    strip.locator_params(axis="y", nbins=2)
    strip.yaxis.set_major_formatter(lambda rate, _: f"{rate:g}")
    caption(strip, "learning rate")


def caption(axes: "Axes", text: str) -> None:
    """What the left axis measures, level and above it, where it is read first."""
    axes.set_title(text, loc="left", fontsize=WORDS, color=palette.LIGHT.muted)


def dress(axes: "Axes") -> None:
    """Hairlines, no box, quiet numbers; thousands are grouped on the step axis."""
    for side in axes.spines.values():
        side.set_visible(False)
    axes.grid(True, color=palette.LIGHT.hairline, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=palette.LIGHT.muted, labelsize=9)
    axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}" if step == int(step) else "")
    axes.margins(x=0.015)


def best_in_words(validation: Sequence[Point], score: Sequence[Point], name: str = "BLEU") -> str:
    """The best validation loss and score in words."""
    sentences = []
    losses = [(value, step) for step, value in validation if np.isfinite(value)]
    if losses:
        value, step = min(losses)
        sentences.append(f"best validation loss {value:.3f} at step {step:,.0f}")
    scores = [(value, -step) for step, value in score if np.isfinite(value)]
    if scores:
        value, step = max(scores)
        shown = f"{value:.1f}" if value > 1 else f"{value:.4f}"  # of 100, or a share
        sentences.append(f"best {name} {shown} at step {-step:,.0f}")
    return "  ·  ".join(sentences)
