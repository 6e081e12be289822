"""Figures of the sinusoids: the values of numbers.md, closed forms, and wrong sizes."""

import math

import numpy as np
import pytest

from regard.errors import MisuseError
from regard.explain.positions import position_figures


def test_the_numbers_of_the_notes() -> None:
    figures = position_figures(50, 128)
    # PE(p)·PE(p+k) = Σ_i cos(k ω_i), ω_i = 10000^(−i/64), summed over 64 frequencies.
    by_hand = [math.fsum(math.cos(k * 10000 ** (-i / 64)) for i in range(64)) for k in range(50)]
    assert figures.products == pytest.approx(by_hand, abs=1e-5)
    assert figures.products[[0, 1, 2, 5]].round(4).tolist() == [64, 62.0937, 57.3819, 47.1850]
    assert round(float(figures.deviation[0]), 4) == 0.7078
    assert round(float(figures.deviation[127]), 6) == 0.000005


def test_the_product_asks_for_the_distance_only() -> None:
    table = position_figures(50, 128).table
    for k in (1, 2, 5):
        products = [table[p] @ table[p + k] for p in range(50 - k)]
        assert products == pytest.approx([products[0]] * len(products), abs=1e-5)


def test_wavelengths_grow_from_two_pi_towards_the_base() -> None:
    figures = position_figures(4, 4, base=100)
    assert figures.wavelengths == pytest.approx((2 * math.pi, 20 * math.pi))
    assert figures.table[1] == pytest.approx(
        [math.sin(1), math.cos(1), math.sin(0.1), math.cos(0.1)], abs=1e-6
    )


def test_doubling_periods_are_chosen_for_the_bits() -> None:
    # 10000^(2i/128) = 2, 4, 8 at i = 4.8, 9.6, 14.4: the nearest are 5, 10 and 14.
    assert position_figures(16, 128).doubling() == [0, 10, 20, 28]
    assert position_figures(16, 2).doubling() == [0]


def test_waves_run_from_the_first_sine_to_the_last() -> None:
    assert position_figures(2, 128).waves() == [0, 18, 36, 54, 72, 90, 108, 126]
    assert position_figures(2, 6).waves() == [0, 2, 4] and position_figures(1, 2).waves() == [0]


def test_one_position_does_not_spread() -> None:
    figures = position_figures(1, 2)
    assert figures.products.tolist() == [1] and np.all(figures.deviation == 0)


@pytest.mark.parametrize(
    ("length", "dim", "base", "message"),
    [
        (50, 7, 10_000, "dim: got 7, .* 6 or 8"),
        (50, 0, 10_000, "dim: got 0, .* 2 to 4096"),
        (50, -4, 10_000, "dim: got -4"),
        (0, 128, 10_000, "length: got 0, .* 1 to 10000"),
        (10**9, 128, 10_000, "length: got 1000000000"),
        (10_000, 4096, 10_000, "10000 × 4096 .* 4,000,000"),
        (50, 128, 1, "base: got 1,"),
        (50, 128, math.nan, "base: got nan"),
        (50, 128, math.inf, "base: got inf"),
    ],
)
def test_wrong_sizes_are_told(length: int, dim: int, base: float, message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        position_figures(length, dim, base)
