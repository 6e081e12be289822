"""What pictures are made of: shapes at places in pixels, y downwards, in colours for both modes.

A picture is drawn once, here; svg.py and png.py only write it down.

    Picture ─ Rect, Circle, Line, Text     one shape each
            ─ Raster                       many small cells in a rectangle
            ─ Tip                          shapes that share a tooltip
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from regard.draw import palette
from regard.draw.labels import ems, wrap_ems

PAD = 24.0  # around every picture
TITLE_SIZE, SUBTITLE_SIZE, SMALL_SIZE = 17.0, 13.0, 12.0
TITLE_HEIGHT, SUBTITLE_HEIGHT = 24.0, 19.0  # of a line
BOLDER = 1.06  # how much wider bold letters are
WIDEST_TEXT = 720.0  # a longer title is broken into lines
SCALE_WIDTH, SCALE_HEIGHT = 160.0, 10.0
LEVELS = 64  # steps of the colour scale: each is a rule in an SVG, so they are few

Number = float | int


@dataclass(frozen=True)
class Colour:
    """One colour, as "#rrggbb" for a light and for a dark page."""

    light: str
    dark: str


SURFACE = Colour(palette.LIGHT.surface, palette.DARK.surface)
INK = Colour(palette.LIGHT.ink, palette.DARK.ink)
MUTED = Colour(palette.LIGHT.muted, palette.DARK.muted)
HAIRLINE = Colour(palette.LIGHT.hairline, palette.DARK.hairline)
MISSING = Colour(palette.LIGHT.missing, palette.DARK.missing)
BLUE = Colour(palette.TRAINING, "#3aafb2")
ORANGE = Colour(palette.VALIDATION, "#f08a5d")


def scale(fraction: Number, levels: int = LEVELS) -> Colour:
    """The colour of a weight, `fraction` of the maximum, rounded to a step of the scale."""
    step = round(min(1.0, max(0.0, fraction)) * levels) / levels
    return Colour(palette.scale(step), palette.scale(step, dark=True))


def ink_on(colour: Colour) -> Colour:
    """The text colour that reads best on `colour`."""
    return Colour(palette.ink_on(colour.light), palette.ink_on(colour.dark))


@dataclass(frozen=True)
class Rect:
    """A filled rectangle from its upper left corner, with a thin edge or none."""

    x: Number
    y: Number
    width: Number
    height: Number
    fill: Colour
    edge: Colour | None = None


@dataclass(frozen=True)
class Circle:
    """A filled circle around its middle."""

    x: Number
    y: Number
    radius: Number
    fill: Colour


@dataclass(frozen=True)
class Stroke:
    """A line through two points or more, with round ends."""

    points: Sequence[tuple[Number, Number]]
    colour: Colour
    width: Number


@dataclass(frozen=True)
class Text:
    """A line of text with its anchor on the baseline, turned up by `angle` degrees around it."""

    x: Number
    y: Number
    text: str
    size: Number
    colour: Colour = INK
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    angle: int = 0


@dataclass(frozen=True, eq=False)
class Raster:
    """A rectangle of equal cells without gaps; each cell says which of the colours it has."""

    x: Number
    y: Number
    width: Number
    height: Number
    cells: Int[np.ndarray, "rows columns"]
    colours: Sequence[Colour]


@dataclass(frozen=True)
class Tip:
    """Shapes that tell `words` where somebody points at them."""

    words: str
    shapes: Sequence[Rect | Circle | Text]


Drawn = Rect | Circle | Stroke | Text | Raster | Tip


@dataclass(frozen=True, eq=False)
class Picture:
    """A page with its name, the whole of it in words for those who do not see it, and shapes."""

    width: Number
    height: Number
    title: str
    words: str
    shapes: Sequence[Drawn]


@dataclass(frozen=True)
class Heading:
    """Title and subtitle at the upper left corner, broken into lines."""

    title: tuple[str, ...]
    subtitle: tuple[str, ...]

    @property
    def bottom(self) -> float:
        return PAD + len(self.title) * TITLE_HEIGHT + len(self.subtitle) * SUBTITLE_HEIGHT

    @property
    def right(self) -> float:
        widths = [ems(line) * TITLE_SIZE * BOLDER for line in self.title]
        return PAD + max([0.0, *widths, *(ems(line) * SUBTITLE_SIZE for line in self.subtitle)])

    def texts(self) -> Iterator[Text]:
        y = PAD - 6
        for line in self.title:
            y += TITLE_HEIGHT
            yield Text(PAD, y - 4, line, TITLE_SIZE, bold=True)
        for line in self.subtitle:
            y += SUBTITLE_HEIGHT
            yield Text(PAD, y - 2, line, SUBTITLE_SIZE, MUTED)


def heading(title: str, subtitle: str) -> Heading:
    """Break both at the widest text."""
    return Heading(
        tuple(wrap_ems(title, WIDEST_TEXT / TITLE_SIZE / BOLDER)),
        tuple(wrap_ems(subtitle, WIDEST_TEXT / SUBTITLE_SIZE)),
    )


def colour_scale(
    left: Number, top: Number, low: str, high: str, width: Number = SCALE_WIDTH
) -> Iterator[Drawn]:
    """What the colours mean: a ramp between the numbers at its ends."""
    start, baseline = left + ems(low) * SMALL_SIZE + 6, top + SCALE_HEIGHT - 1
    yield Text(left, baseline, low, SMALL_SIZE, MUTED)
    for step in range(LEVELS):
        done = step / LEVELS * width
        # Each goes on to the end, under the next: where two only met, the page would shine through.
        fill = scale(step / (LEVELS - 1))
        yield Rect(start + done, top, width - done, SCALE_HEIGHT, fill)
    yield Text(start + width + 7, baseline, high, SMALL_SIZE, MUTED)
