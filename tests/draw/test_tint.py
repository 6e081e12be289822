"""Tints of signed numbers: levels worked out by hand, and text on every tint stays readable."""

import numpy as np
import pytest

from regard.draw import palette
from regard.draw.tint import LEVELS, largest, level, tint


def test_levels_by_hand() -> None:
    assert [level(v, 2.0) for v in (0, 2, -2, 1, 9, -0.05)] == [0, 9, -9, 4, 9, 0]
    assert level(float("nan"), 1.0) == level(-np.inf, 1.0) == level(1.0, 0.0) == 0


def test_the_end_of_the_scale_is_the_greatest_finite_magnitude() -> None:
    assert largest(np.array([[0.5, -3.0], [-np.inf, np.nan]])) == 3.0
    assert largest(np.array([-np.inf])) == 0.0
    assert largest(np.array([306, 605])) == 0.0  # ids are names


@pytest.mark.parametrize("dark", [False, True])
def test_ink_is_readable_on_every_tint(dark: bool) -> None:
    theme = palette.DARK if dark else palette.LIGHT
    steps = [step for step in range(-LEVELS, LEVELS + 1) if step]
    assert min(palette.contrast(theme.ink, tint(step, dark=dark)) for step in steps) >= 4.5
    assert len({tint(step, dark=dark) for step in steps}) == len(steps)
