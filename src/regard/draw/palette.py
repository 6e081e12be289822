"""The one palette of regard: a fraction in [0, 1] goes in, a colour "#rrggbb" comes out.

The sequential scale is data: nine anchors at equal steps of OKLCH lightness (0.972 down to 0.225),
the hue turning from cream over green and teal to ink. Between anchors it is linear in sRGB. On a
light surface more weight is darker; on a dark surface the scale is read backwards, so that
"nothing" always sinks into the background and "everything" always stands out.
"""

from dataclasses import dataclass

ANCHORS = (
    "#f7f6ed",
    "#c1e1c6",
    "#77ccb9",
    "#3aafb2",
    "#208ea4",
    "#146d93",
    "#164d7e",
    "#1b2f61",
    "#15163b",
)


@dataclass(frozen=True)
class Theme:
    """The colours around the data: page, text, secondary text, hairlines, cells without a value."""

    surface: str
    ink: str
    muted: str
    hairline: str
    missing: str


LIGHT = Theme("#ffffff", "#1d2129", "#626975", "#dfe2e7", "#e9e9ee")
DARK = Theme("#0f1117", "#e9ebf0", "#9aa2b1", "#323744", "#2a2d37")

# Series of a chart: told apart by hue, by lightness and (in figures) by marker.
TRAINING = "#146d93"
TRAINING_RAW = "#a9cfdc"
VALIDATION = "#d4562a"
BLEU = "#6a4c9c"


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of "#rrggbb", each 0 … 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mixed(first: str, second: str, share: float) -> str:
    """The colour that lies so far on the way from one to the other, linear in sRGB."""
    pairs = zip(channels(first), channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def scale(fraction: float | int, *, dark: bool = False) -> str:
    """The colour of a weight: `fraction` of the maximum, clipped to [0, 1]."""
    clipped = min(1.0, max(0.0, fraction))
    place = (1.0 - clipped if dark else clipped) * (len(ANCHORS) - 1)
    low = min(int(place), len(ANCHORS) - 2)
    return mixed(ANCHORS[low], ANCHORS[low + 1], place - low)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2: 0 is black, 1 is white."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of WCAG 2, from 1 (equal) to 21 (black on white)."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def ink_on(colour: str) -> str:
    """The text colour that reads best on `colour`."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))
