"""The parts of a loss curve: axes and numbers go in, lines on those axes come out.

plot.py makes the figure, arranges these parts and saves; nothing here imports matplotlib, the axes
are handed in.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from regard.draw import palette
from regard.draw.terminal.line_chart import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def points_of(pairs: Sequence[Point]) -> Float[np.ndarray, "points 2"]:
    return np.asarray(pairs, dtype=float).reshape(-1, 2)


def draw_losses(
    axes: "Axes",
    x: Float[np.ndarray, " steps"],
    y: Float[np.ndarray, " steps"],
    checks: Float[np.ndarray, "points 2"],
    unit: str,
) -> None:
    """Raw and smoothed training loss, validation points, and limits that one spike cannot set."""
    smooth = smoothed(y)
    few = np.isfinite(y).sum() < 20
    axes.plot(x, y, color=palette.TRAINING_RAW, linewidth=0.9, zorder=2)
    # A point with a gap on both sides has no line, so a short series also gets dots.
    axes.plot(
        x,
        smooth,
        color=palette.TRAINING,
        linewidth=2,
        zorder=3,
        label="training",
        marker="o" if few else "",
        markersize=4,
    )
    if len(checks):
        axes.plot(
            checks[:, 0],
            checks[:, 1],
            color=palette.VALIDATION,
            marker="o",
            markersize=5.5,
            markeredgecolor=palette.LIGHT.surface,
            linewidth=1,
            zorder=4,
            label="validation",
        )
        name_a_lone_point(axes, checks, palette.VALIDATION)
    finite = y[np.isfinite(y)]
    shown = np.concatenate(
        [smooth, checks[:, 1], np.quantile(finite, (0.005, 0.995)) if finite.size else np.array([])]
    )
    shown = shown[np.isfinite(shown)]
    if shown.size:
        low, high = float(shown.min()), float(shown.max())
        room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.1)
        axes.set_ylim(max(0.0, low - room) if low >= 0 else low - room, high + room)
    dress(axes)
    caption(axes, f"loss ({unit})" if unit else "loss")


def smoothed(values: Float[np.ndarray, " steps"]) -> Float[np.ndarray, " steps"]:
    """Centred mean over about a fortieth of the run: no lag, gaps (NaN) stay gaps.

    What is further than three deviations from its surroundings is first drawn nearer, twice, so
    that one exploding step makes no plateau as wide as the window.
    """
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    for _ in range(2):
        means = _window_means(filled, known)
        spread = np.sqrt(np.maximum(0.0, _window_means(filled**2, known) - means**2))
        filled = np.where(known, np.clip(filled, means - 3 * spread, means + 3 * spread), 0.0)
    return np.where(known, _window_means(filled, known), np.nan)


def _window_means(
    filled: Float[np.ndarray, " steps"], known: Bool[np.ndarray, " steps"]
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
    counts = np.concatenate([[0], np.cumsum(known)])
    means: Float[np.ndarray, " steps"] = (sums[last] - sums[first]) / np.maximum(
        1, counts[last] - counts[first]
    )
    return means


def draw_score(right: "Axes", points: Float[np.ndarray, "points 2"], name: str) -> None:
    """A score, from 0 to a little over its best, on an axis of its own colour at the right."""
    right.plot(
        points[:, 0],
        points[:, 1],
        color=palette.BLEU,
        marker="D",
        markersize=4.5,
        linewidth=1.2,
        linestyle=(0, (4, 2)),
        label=f"{name} (right)",
    )
    finite = points[np.isfinite(points[:, 1]), 1]
    name_a_lone_point(right, points, palette.BLEU)
    right.set_ylim(0, max(1.0, float(finite.max()) * 1.15 if finite.size else 1.0))
    dress(right)
    right.grid(False)
    right.set_ylabel(name, color=palette.BLEU, fontsize=9.5)
    right.tick_params(axis="y", colors=palette.BLEU)


def name_a_lone_point(axes: "Axes", points: Float[np.ndarray, "points 2"], colour: str) -> None:
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
        fontsize=9.5,
    )


def draw_learning_rate(
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
    axes.set_title(text, loc="left", fontsize=9.5, color=palette.LIGHT.muted)


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
    found = []
    known = [(value, step) for step, value in validation if np.isfinite(value)]
    if known:
        value, step = min(known)
        found.append(f"best validation loss {value:.3f} at step {step:,.0f}")
    known = [(value, -step) for step, value in score if np.isfinite(value)]
    if known:
        value, step = max(known)
        shown = f"{value:.1f}" if value > 1 else f"{value:.4f}"  # of 100, or a share
        found.append(f"best {name} {shown} at step {-step:,.0f}")
    return "  ·  ".join(found)
