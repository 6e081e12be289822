"""A picture as a PNG file, and the figures of plots, by matplotlib (the optional extra `train`).

matplotlib is imported inside functions and only as objects (a Figure on an Agg canvas), so nothing
global changes and threads do not meet. Files appear whole or not at all: each is written under a
temporary name and renamed.
"""

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from regard import atomic
from regard.draw import palette
from regard.draw.figure.canvas import Circle, Drawn, Picture, Raster, Rect, Stroke, Text, Tip
from regard.draw.figure.fonts import say_once, set_fonts
from regard.errors import RegardError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

DOTS_PER_INCH = 200
PIXELS_PER_INCH = 100  # a picture's pixels, so a PNG has twice as many dots
POINTS = 72 / PIXELS_PER_INCH  # size of one of those pixels
NARROWER = 0.92  # DejaVu Sans is wider than the typefaces of a browser
ANCHORS: dict[str, Literal["left", "center", "right"]] = {
    "start": "left", "middle": "center", "end": "right",
}  # fmt: skip

_ONE_AT_A_TIME = threading.Lock()


class MissingMatplotlib(RegardError, ImportError):
    """Drawing PNG files needs matplotlib, which is not installed."""


def write_png(path: str | os.PathLike[str], picture: Picture) -> None:
    """The picture as on a light page, at two dots per pixel."""
    figure = new_figure(picture.width / PIXELS_PER_INCH, picture.height / PIXELS_PER_INCH)
    from matplotlib.transforms import Affine2D

    dots = DOTS_PER_INCH / PIXELS_PER_INCH
    pixels = Affine2D().scale(dots, -dots).translate(0, picture.height * dots)
    flat: list[Drawn] = []
    for shape in picture.shapes:
        flat += shape.shapes if isinstance(shape, Tip) else [shape]
    for order, shape in enumerate(flat):
        if isinstance(shape, Text):
            _write(figure, shape, pixels, order)
        elif isinstance(shape, Raster):
            _paint(figure, shape, picture, order)
        else:
            artist = _artist(shape)
            artist.set(transform=pixels, zorder=order)
            figure.add_artist(artist)
    save(figure, path)


def _artist(shape: Drawn) -> "Artist":
    from matplotlib import lines, patches

    if isinstance(shape, Stroke):
        xs, ys = zip(*shape.points, strict=True)
        return lines.Line2D(
            xs, ys, color=shape.colour.light, linewidth=shape.width * POINTS,
            solid_capstyle="round", solid_joinstyle="round",
        )  # fmt: skip
    if isinstance(shape, Circle):
        return patches.Circle((shape.x, shape.y), shape.radius, color=shape.fill.light, linewidth=0)
    assert isinstance(shape, Rect)
    edge = {"edgecolor": shape.edge.light, "linewidth": POINTS} if shape.edge else {"linewidth": 0}
    size = shape.width, shape.height
    return patches.Rectangle((shape.x, shape.y), *size, facecolor=shape.fill.light, **edge)


def _write(figure: "Figure", shape: Text, pixels: "Affine2D", order: int) -> None:
    figure.text(
        shape.x,
        shape.y,
        shape.text,
        fontsize=shape.size * NARROWER * POINTS,
        color=shape.colour.light,
        fontweight="bold" if shape.bold else "normal",
        ha=ANCHORS[shape.anchor],
        va="baseline",
        rotation=shape.angle,
        rotation_mode="anchor",
        transform=pixels,
        zorder=order,
    )


def _paint(figure: "Figure", shape: Raster, picture: Picture, order: int) -> None:
    """Cells as an image, which lies in axes of its own."""
    left, width = shape.x / picture.width, shape.width / picture.width
    bottom, height = 1 - (shape.y + shape.height) / picture.height, shape.height / picture.height
    axes = figure.add_axes((left, bottom, width, height), zorder=order)
    colours = np.array([palette.channels(colour.light) for colour in shape.colours], dtype=np.uint8)
    axes.imshow(colours[shape.cells], aspect="auto")  # few cells are left sharp, many are blended
    axes.set_axis_off()


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
