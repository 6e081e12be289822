"""The picture of a range test: loss over learning rate, by matplotlib."""

import os
from collections.abc import Sequence
from typing import Literal

from regard.draw import palette
from regard.draw.figure import plot
from regard.draw.figure.png import new_figure, save


def range_plot(
    path: str | os.PathLike[str],
    rates: Sequence[float],
    losses: Sequence[float],
    smooth: Sequence[float],
    chosen: float,
    setting: str,
    kind: Literal["png", "svg"] = "png",
    *,
    model: str = "",
    unit: str = "nats per token",
) -> None:
    """Every step (light), the running mean, and a line at the rate that is suggested."""
    figure = new_figure(*plot.INCHES)
    axes = figure.add_axes((0.07, 0.12, 0.89, 0.68))
    axes.set_xscale("log")
    axes.plot(rates, losses, color=palette.TRAINING_RAW, linewidth=0.9)
    axes.plot(rates, smooth, color=palette.TRAINING, linewidth=2)
    axes.axvline(chosen, color=palette.VALIDATION, linewidth=1.2, linestyle=(0, (4, 2)))
    low, high = min(smooth), max(smooth)
    axes.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
    place = chosen, high + 0.08 * (high - low)
    axes.annotate(f" {chosen:.1e}: {setting}", place, color=palette.VALIDATION, fontsize=plot.WORDS)
    plot.dress(axes)
    axes.tick_params(which="minor", length=0)
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:.0e}")
    plot.caption(axes, f"loss ({unit})" if unit else "loss")
    axes.set_xlabel("learning rate", color=palette.LIGHT.muted, fontsize=plot.WORDS)
    title = "Which learning rate? The loss while the rate rises"
    said = "light: each step · line: running mean · dashed: where it falls fastest"
    plot.write_words(figure, title, model, said)
    save(figure, path, kind)
