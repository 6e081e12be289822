"""The shape of the Noam rate; its values are in tests/notes/test_schedule.py."""

import pytest

from regard.train.schedule import noam


def test_the_peak_is_at_warmup_and_factor_scales() -> None:
    rates = [noam(step, 64, 50) for step in range(1, 200)]
    assert rates.index(max(rates)) == 49
    assert noam(10, 64, 50, factor=2.5) == pytest.approx(2.5 * noam(10, 64, 50))
