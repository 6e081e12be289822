"""The Noam rate at the five steps of the notes (d_model 512, warm-up 4000)."""

import pytest

from regard.train.schedule import noam


@pytest.mark.parametrize(
    ("step", "rate"),
    [(1, 1.7469e-7), (2000, 3.4939e-4), (4000, 6.9877e-4), (8000, 4.9411e-4), (100_000, 1.3975e-4)],
)
def test_five_steps(step: int, rate: float) -> None:
    assert noam(step, 512, 4000) == pytest.approx(rate, rel=5e-5)


def test_the_peak_is_at_warmup_and_factor_scales() -> None:
    rates = [noam(step, 64, 50) for step in range(1, 200)]
    assert rates.index(max(rates)) == 49
    assert noam(10, 64, 50, factor=2.5) == pytest.approx(2.5 * noam(10, 64, 50))
