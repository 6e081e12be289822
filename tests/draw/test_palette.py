"""The colour scale: ordered by lightness at every step, and text on it can be read."""

import pytest
from rich.color import Color, ColorSystem

from regard.draw import palette


def test_luminance_falls_at_every_step_of_the_scale() -> None:
    shades = [palette.luminance(palette.scale(step / 200)) for step in range(201)]
    assert all(later < earlier for earlier, later in zip(shades, shades[1:], strict=False))
    assert shades[0] > 0.85 and shades[-1] < 0.02


def test_lightness_steps_are_even() -> None:
    # CIE L*, the scale a photographer calls grey: no step more than twice another.
    lightness = [116 * palette.luminance(c) ** (1 / 3) - 16 for c in palette.ANCHORS]
    steps = [a - b for a, b in zip(lightness, lightness[1:], strict=False)]
    assert max(steps) < 2 * min(steps)


def test_dark_scale_is_the_light_one_backwards_and_both_clip() -> None:
    assert palette.scale(0.25, dark=True) == palette.scale(0.75)
    assert palette.scale(-3) == palette.ANCHORS[0]
    assert palette.scale(7) == palette.ANCHORS[-1]


def test_the_scale_survives_256_colours() -> None:
    seen = []
    for step in range(101):
        red, green, blue = palette.channels(palette.scale(step / 100))
        nearest = Color.from_rgb(red, green, blue).downgrade(ColorSystem.EIGHT_BIT)
        seen.append(palette.luminance(nearest.get_truecolor().hex))
    assert len(set(seen)) >= 8
    # Quantising may turn a step around a little, never by something one sees.
    assert all(later - earlier < 0.06 for earlier, later in zip(seen, seen[1:], strict=False))


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_in_cells_have_contrast(dark: bool) -> None:
    for step in range(65):
        colour = palette.scale(step / 64, dark=dark)
        assert palette.contrast(palette.ink_on(colour), colour) >= 4.5
    for theme in (palette.LIGHT, palette.DARK):
        assert palette.contrast(theme.ink, theme.surface) >= 12
        assert palette.contrast(theme.muted, theme.surface) >= 4.5
    nothing = palette.scale(1.5 / 64, dark=dark)
    assert palette.contrast((palette.DARK if dark else palette.LIGHT).muted, nothing) >= 4.5


@pytest.mark.parametrize("series", [palette.TRAINING, palette.VALIDATION, palette.BLEU])
def test_series_stand_out_from_paper(series: str) -> None:
    assert palette.contrast(series, palette.LIGHT.surface) >= 3
