"""Pictures in a picture: rows of small images with captions, colours or weights in a grid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Colour, Drawn, Picture, Raster, Rect, Text
from regard.draw.labels import shorten_ems, visible

SIDE = 132.0  # of a panel
GAP = 18.0
LINE = 16.0  # of a caption
FINEST = 128  # cells of a side that are drawn; a larger image is thinned out
BETWEEN = 200  # the grey between pictures that are pasted together
WIDEST_CAPTION = SIDE + GAP - 4


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """One image: which of the colours each cell has; and lines below it."""

    cells: NDArray[np.int64]
    colours: Sequence[Colour]
    caption: tuple[str, ...] = ()


def of_colours(colours: NDArray[np.uint8], *caption: str) -> Thumbnail:
    """(height, width, 1 or 3) as they are, on a light and on a dark page."""
    step = -(-max(colours.shape[:2]) // FINEST)
    thin = np.broadcast_to(colours[::step, ::step], (*colours[::step, ::step].shape[:2], 3))
    kinds, cells = np.unique(thin.reshape(-1, 3), axis=0, return_inverse=True)
    named = ["#{:02x}{:02x}{:02x}".format(*kind) for kind in kinds.tolist()]
    return Thumbnail(cells.reshape(thin.shape[:2]), [Colour(n, n) for n in named], caption)


def of_weights(weights: NDArray[np.floating], *caption: str) -> Thumbnail:
    """A grid of weights from 0, the largest in full colour."""
    steps = np.rint(weights / max(float(weights.max()), 1e-12) * canvas.LEVELS).astype(np.int64)
    levels = [canvas.scale(level / canvas.LEVELS) for level in range(canvas.LEVELS + 1)]
    return Thumbnail(np.clip(steps, 0, canvas.LEVELS), levels, caption)


def gallery(rows: Sequence[Sequence[Thumbnail]], title: str, subtitle: str, words: str) -> Picture:
    """Panels in rows; `words` say it to those who do not see it."""
    heading = canvas.heading(title, subtitle)
    y, shapes = heading.bottom + GAP, list[Drawn](heading.texts())
    for row in rows:
        shapes += _row(row, y)
        y += SIDE + LINE * max(len(panel.caption) for panel in row) + GAP
    widest = max(len(row) for row in rows)
    width = max(heading.right, canvas.PAD + widest * (SIDE + GAP) - GAP) + canvas.PAD
    return Picture(width, y - GAP + canvas.PAD, title, words, shapes)


def pasted(rows: Sequence[Sequence[NDArray[np.uint8]]], scale: int) -> NDArray[np.uint8]:
    """Pictures of one size in rows, as pixels: each `scale` times as large, a grey line between."""
    large = [[one.repeat(scale, axis=0).repeat(scale, axis=1) for one in row] for row in rows]
    height, width, channels = large[0][0].shape
    across = max(len(row) for row in large)
    size = len(rows) * (height + scale) - scale, across * (width + scale) - scale, channels
    together = np.full(size, BETWEEN, np.uint8)
    for down, row in enumerate(large):
        for right, one in enumerate(row):
            top, left = down * (height + scale), right * (width + scale)
            together[top : top + height, left : left + width] = one
    return together


def _row(row: Sequence[Thumbnail], top: float) -> Iterator[Drawn]:
    for number, panel in enumerate(row):
        left = canvas.PAD + number * (SIDE + GAP)
        high, wide = panel.cells.shape
        scale = SIDE / max(high, wide)
        width, height = wide * scale, high * scale
        x, y = left + (SIDE - width) / 2, top + (SIDE - height) / 2
        yield Rect(x - 1, y - 1, width + 2, height + 2, canvas.HAIRLINE)
        yield Raster(x, y, width, height, panel.cells, panel.colours)
        for line, text in enumerate(panel.caption, start=1):
            ink = canvas.INK if line == 1 else canvas.MUTED
            said = shorten_ems(visible(text), WIDEST_CAPTION / canvas.SMALL_SIZE)
            yield Text(left, top + SIDE + line * LINE, said, canvas.SMALL_SIZE, ink)
