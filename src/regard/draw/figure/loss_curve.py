"""The picture of a training: losses, a score and learning rates go in, a PNG file comes out."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from regard.draw import palette
from regard.draw.figure import plot
from regard.draw.figure.png import new_figure, save
from regard.draw.labels import visible
from regard.draw.terminal.line_chart import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    less_is_better: bool = False,
    unit: str = "nats per token",
) -> None:
    """Loss over optimizer steps: raw (light) and smoothed; validation; a score on the right axis.

    `learning_rate`, one per step, gets a strip of its own below. NaN leaves a gap. The title says
    what was trained; `name`, of the run's folder, comes below it. A score may be an error
    (`less_is_better`).
    """
    if len(steps) != len(losses) or (
        learning_rate is not None and len(learning_rate) != len(steps)
    ):
        rates = "none" if learning_rate is None else str(len(learning_rate))
        raise ValueError(
            f"loss curve: got {len(steps)} steps, {len(losses)} losses, {rates} learning rates; "
            "expected as many of each"
        )
    figure = new_figure(*plot.INCHES)
    x, y = np.asarray(steps, dtype=float), np.asarray(losses, dtype=float)
    bottom = 0.3 if learning_rate is not None else 0.12
    axes = figure.add_axes((0.07, bottom, 0.86, 0.77 - bottom))
    _draw_losses(axes, x, y, plot.points_of(validation), unit)
    handles = axes.get_legend_handles_labels()[0]
    if len(score):
        right = axes.twinx()
        _draw_score(right, plot.points_of(score), score_name)
        handles += right.get_legend_handles_labels()[0]
    lowest = axes
    if learning_rate is not None:
        axes.tick_params(labelbottom=False)
        lowest = figure.add_axes((0.07, 0.12, 0.86, 0.12), sharex=axes)
        _draw_learning_rate(lowest, x, np.asarray(learning_rate, dtype=float))
    lowest.set_xlabel("optimizer step", color=palette.LIGHT.muted, fontsize=plot.WORDS)
    below = [visible(name), best_in_words(validation, score, score_name, less_is_better)]
    plot.write_words(figure, visible(title), "  ·  ".join(words for words in below if words))
    plot.legend(figure, handles, 4, loc="lower right", bbox_to_anchor=(0.94, 0.765))
    save(figure, path)


def _draw_losses(
    axes: "Axes",
    x: Float[np.ndarray, " steps"],
    y: Float[np.ndarray, " steps"],
    checks: Float[np.ndarray, "points 2"],
    unit: str,
) -> None:
    """Raw and smoothed training loss, validation points, and limits that one spike cannot set."""
    smooth = plot.smoothed(y)
    # A point with a gap on both sides has no line, so a short series also gets dots.
    marker = "o" if np.isfinite(y).sum() < 20 else ""
    axes.plot(x, y, color=palette.TRAINING_RAW, linewidth=0.9, zorder=2)
    dots: dict[str, Any] = {"marker": marker, "markersize": 4}
    axes.plot(x, smooth, color=palette.TRAINING, linewidth=2, zorder=3, label="training", **dots)
    if len(checks):
        look = {"markersize": 5.5, "linewidth": 1, "zorder": 4}
        plot.draw_checks(axes, checks, "validation", palette.VALIDATION, **look)
    finite = y[np.isfinite(y)]
    usual = np.quantile(finite, (0.005, 0.995)) if finite.size else np.array([])
    plot.set_limits(axes, np.concatenate([smooth, checks[:, 1], usual]), 1.0)
    plot.dress(axes)
    plot.caption(axes, f"loss ({unit})" if unit else "loss")


def _draw_score(right: "Axes", points: Float[np.ndarray, "points 2"], name: str) -> None:
    """A score, from 0 to a little over its best, on an axis of its own colour at the right."""
    look: dict[str, Any] = {"marker": "D", "markersize": 4.5, "linestyle": (0, (4, 2))}
    edge = {"markeredgecolor": palette.BLEU, "linewidth": 1.2}
    plot.draw_checks(right, points, f"{name} (right)", palette.BLEU, **look, **edge)
    finite = points[np.isfinite(points[:, 1]), 1]
    right.set_ylim(0, max(1.0, float(finite.max()) * 1.15 if finite.size else 1.0))
    plot.dress(right)
    right.grid(False)
    right.set_ylabel(name, color=palette.BLEU, fontsize=plot.WORDS)
    right.tick_params(axis="y", colors=palette.BLEU)


def _draw_learning_rate(
    strip: "Axes", x: Float[np.ndarray, " steps"], rates: Float[np.ndarray, " steps"]
) -> None:
    strip.fill_between(x, rates, color=palette.LIGHT.hairline, linewidth=0)
    strip.plot(x, rates, color=palette.LIGHT.muted, linewidth=1.2)
    plot.dress(strip)
    strip.set_ylim(bottom=0)
    strip.locator_params(axis="y", nbins=2)
    strip.yaxis.set_major_formatter(lambda rate, _: f"{rate:g}")
    plot.caption(strip, "learning rate")


def best_in_words(
    validation: Sequence[Point],
    score: Sequence[Point],
    name: str = "BLEU",
    less_is_better: bool = False,
) -> str:
    """The best validation loss and score in words."""
    sentences = []
    losses = [(value, step) for step, value in validation if np.isfinite(value)]
    if losses:
        value, step = min(losses)
        sentences.append(f"best validation loss {value:.3f} at step {step:,.0f}")
    sign = -1 if less_is_better else 1
    scores = [(sign * value, -step) for step, value in score if np.isfinite(value)]
    if scores:
        value, step = max(scores)
        value *= sign
        shown = f"{value:.1f}" if value > 1 else f"{value:.4f}"  # of 100, or a share
        sentences.append(f"best {name} {shown} at step {-step:,.0f}")
    return "  ·  ".join(sentences)
