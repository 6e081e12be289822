"""The grid: shapes and labels must agree, the scale must have an end."""

import math

import numpy as np
import pytest

from regard.draw.grid import make_grid, number


def test_fractions_are_clipped_and_missing_stays_missing() -> None:
    grid = make_grid(np.array([[[-1.0, 0.5, 9.0, math.nan]]]), ["r"], list("abcd"), 2.0)
    assert [grid.at(0, 0, c) for c in range(3)] == [(-1.0, 0.0), (0.5, 0.25), (9.0, 1.0)]
    assert all(map(math.isnan, grid.at(0, 0, 3)))


def test_maximum_none_is_the_largest_weight() -> None:
    assert make_grid(np.array([[[0.1, 0.4, math.nan]]]), ["r"], list("abc"), None).maximum == 0.4
    assert make_grid(np.zeros((1, 1, 1)), ["r"], ["c"], None).maximum == 1.0
    assert make_grid(np.full((1, 1, 1), math.nan), ["r"], ["c"], None).maximum == 1.0


def test_wrong_shapes_say_what_was_given_and_expected() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 2, 3\) for 3 row labels and 2 column"):
        make_grid(np.zeros((1, 2, 3)), list("abc"), list("de"), 1.0)
    with pytest.raises(ValueError, match=r"\(panels, rows, columns\)"):
        make_grid(np.zeros((2, 2)), ["a"], ["b", "c"])
    with pytest.raises(ValueError, match="none of them 0"):
        make_grid(np.zeros((1, 0, 0)), [], [], 1.0)


@pytest.mark.parametrize("maximum", [0.0, -1.0, math.nan, math.inf])
def test_wrong_maximum(maximum: float) -> None:
    with pytest.raises(ValueError, match="positive number, or None"):
        make_grid(np.zeros((1, 1, 1)), ["r"], ["c"], maximum)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.001, "0"), (0.07, ".07"), (0.5, ".50"), (0.999, "1"), (1, "1"), (1.25, "1.25"),
     (10.05, "10"), (123, "123"), (math.nan, "–"), (-0.25, "-.25")],
)  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text
