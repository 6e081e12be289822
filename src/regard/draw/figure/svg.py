"""A picture as SVG: one self-contained document (a string) comes out.

No scripts, no fonts, no links: it can be opened as a file, shown by <img> or pasted into a page
(every style rule is scoped to `.regard-map`). Colours follow the reader's light or dark mode, text
stays text, and <desc> tells the picture in words.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from regard import atomic
from regard.draw.figure import canvas
from regard.draw.figure.canvas import Circle, Drawn, Picture, Raster, Rect, Stroke, Text, Tip

FONTS = (
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',"
    "'Noto Sans Devanagari','Noto Sans CJK SC',Arial,sans-serif"
)
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
OVERLAP = 0.4  # pixels; without it the page shines through where two cells of a raster meet
SAME_IN_BOTH_MODES = (
    f".regard-map{{max-width:100%;height:auto;font-family:{FONTS}}}"
    ".regard-map text{font-variant-numeric:tabular-nums}.regard-map .tip text{cursor:default}"
    ".regard-map path{fill:none;stroke-linejoin:round;stroke-linecap:round}"
    ".regard-map .raster path{stroke-linecap:butt}"
)


def write_svg(path: str | os.PathLike[str], picture: Picture) -> None:
    """Written whole or not at all."""
    atomic.write_text(Path(path), svg(picture))


def svg(picture: Picture) -> str:
    """The whole document."""
    width, height = _short(picture.width), _short(picture.height)
    looks = _Looks()
    page = looks.drawn(Rect(0, 0, picture.width, picture.height, canvas.SURFACE))
    shapes = [looks.drawn(shape) for shape in picture.shapes]
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="regard-map" role="img" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            f"<title>{_escape(picture.title)}</title>",
            f"<desc>{_escape(picture.words)}</desc>",
            f"<style>{looks.style()}</style>",
            page,
            *shapes,
            "</svg>\n",
        ]
    )


class _Looks:
    """Writes shapes, and remembers each look they have as a class of the style sheet."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, canvas.Colour, str], str] = {}

    def name(self, role: str, colour: canvas.Colour, more: str = "") -> str:
        """The class for a fill or a stroke of this colour, and what else holds in both modes."""
        return self.names.setdefault((role, colour, more), f"c{len(self.names)}")

    def style(self) -> str:
        light, dark = _on_hover(canvas.INK.light), _on_hover(canvas.INK.dark)
        for (role, colour, more), name in self.names.items():
            light += f".regard-map .{name}{{{role}:{colour.light}{more}}}"
            dark += f".regard-map .{name}{{{role}:{colour.dark}}}"
        return f"{SAME_IN_BOTH_MODES}\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}"

    def drawn(self, shape: Drawn) -> str:
        match shape:
            case Rect(x, y, width, height, fill, edge):
                look = self.name("fill", fill) + (f" {self.name('stroke', edge)}" if edge else "")
                size = f'width="{_short(width)}" height="{_short(height)}"'
                return f'<rect class="{look}" x="{_short(x)}" y="{_short(y)}" {size}/>'
            case Circle(x, y, radius, fill):
                place = f'cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"'
                return f'<circle class="{self.name("fill", fill)}" {place}/>'
            case Stroke(points, colour, width):
                look = self.name("stroke", colour, f";stroke-width:{width:g}px")
                path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
                return f'<path class="{look}" d="M{path}"/>'
            case Text():
                return self.text(shape)
            case Tip(words, shapes):
                inside = "".join(self.drawn(part) for part in shapes)
                return f'<g class="tip"><title>{_escape(words)}</title>{inside}</g>'
            case Raster():
                return "\n".join(self.raster(shape))

    def text(self, shape: Text) -> str:
        more = f";font-size:{shape.size:g}px"
        more += f";text-anchor:{shape.anchor}" if shape.anchor != "start" else ""
        more += ";font-weight:600" if shape.bold else ""
        x, y = _short(shape.x), _short(shape.y)
        place = f'x="{x}" y="{y}"'
        if shape.angle:
            place = f'transform="translate({x} {y}) rotate(-{shape.angle})"'
        look = self.name("fill", shape.colour, more)
        return f'<text class="{look}" {place}>{_escape(shape.text)}</text>'

    def raster(self, shape: Raster) -> Iterator[str]:
        """One path for each colour, in which equal neighbours are one stroke downwards."""
        rows, columns = shape.cells.shape
        across, down = shape.width / columns, shape.height / rows
        strokes: dict[int, str] = {}
        for column in range(columns):
            values = shape.cells[:, column]
            edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), rows]
            for first, end in zip(edges, edges[1:], strict=False):
                stroke = f"M{column}.5 {first}v{end - first + OVERLAP / down:.3g}"
                level = int(values[first])
                strokes[level] = strokes.get(level, "") + stroke
        # A stroke as wide as a column, in units of one cell, stretched to the rectangle.
        place = f"translate({shape.x:g} {shape.y:g}) scale({across:.5g} {down:.5g})"
        wide = f'stroke-width="{1 + OVERLAP / across:.3g}"'
        yield f'<g class="raster" transform="{place}" {wide}>'
        for level, path in sorted(strokes.items()):
            yield f'<path class="{self.name("stroke", shape.colours[level])}" d="{path}"/>'
        yield "</g>"


def _on_hover(ink: str) -> str:
    return f".regard-map .tip:hover rect{{stroke:{ink};stroke-width:1.5px}}"


def _short(pixels: canvas.Number) -> str:
    """Whole, or with two decimals; where they are data, processors may round the last otherwise."""
    return f"{pixels:.0f}" if pixels == int(pixels) else f"{pixels:.2f}"


def _escape(text: str) -> str:
    """Text for XML; the labels were made visible before, so nothing illegal is left."""
    return text.translate(ESCAPES)
