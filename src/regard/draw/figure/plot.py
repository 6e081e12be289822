"""What every plot of regard shares: its size and look, its words, the smoothing of a line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from regard.draw import palette
from regard.draw.terminal.line_chart import Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = (9.0, 5.2)
WORDS = 9.5  # size of all but the title, in points


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


def draw_checks(
    axes: "Axes", points: Float[np.ndarray, "points 2"], name: str, colour: str, **look: Any
) -> None:
    """What was measured now and then, as a line with markers; a single point tells its value."""
    edge = palette.LIGHT.surface
    shown = {"marker": "o", "markeredgecolor": edge, **look}
    axes.plot(points[:, 0], points[:, 1], color=colour, label=name, **shown)
    _name_a_lone_point(axes, points, colour)


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


def set_limits(axes: "Axes", values: Float[np.ndarray, " values"], highest: float) -> None:
    """Room for all values up to a quantile: one exploding step does not set the scale."""
    finite = values[np.isfinite(values)]
    if finite.size:
        low, high = float(finite.min()), float(np.quantile(finite, highest))
        room = (high - low) * 0.06 or abs(high) * 0.1 or 0.1
        axes.set_ylim(max(0.0, low - room) if low >= 0 else low - room, high + room)


def points_of(pairs: Sequence[Point]) -> Float[np.ndarray, "points 2"]:
    return np.asarray(pairs, dtype=float).reshape(-1, 2)


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
