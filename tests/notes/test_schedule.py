"""The learning rate (002), with the paper's d_model 512 and warm-up of 4,000 steps."""

import pytest

from regard.training.schedule import noam

# d_model^-0.5 = 1/√512 = .0441942;  warmup^-1.5 = 1/(4000·63.2456) = 3.95285e-6
#   1        .0441942 · 1 · 3.95285e-6                    = 1.7469e-7     rising: step · warmup^-1.5
#   2,000    .0441942 · 2000 · 3.95285e-6                 = 3.4939e-4
#   4,000    .0441942 / √4000 = .0441942 / 63.2456        = 6.9877e-4     the peak: both are equal
#   8,000    .0441942 / √8000 = .0441942 / 89.4427        = 4.9411e-4     falling: step^-0.5
#   100,000  .0441942 / √100000 = .0441942 / 316.228      = 1.3975e-4
RATES = {1: 1.7469e-7, 2000: 3.4939e-4, 4000: 6.9877e-4, 8000: 4.9411e-4, 100_000: 1.3975e-4}


@pytest.mark.parametrize("step", RATES)
def test_five_steps(step: int) -> None:
    assert noam(step, 512, 4000) == pytest.approx(RATES[step], rel=5e-5)


def test_the_peak_is_at_the_end_of_the_warm_up() -> None:
    # Before it the rate grows by the same amount each step, after it four times the step halves it.
    assert noam(3999, 512, 4000) < noam(4000, 512, 4000) > noam(4001, 512, 4000)
    assert noam(3000, 512, 4000) == pytest.approx(3 * noam(1000, 512, 4000))
    assert noam(40_000, 512, 4000) == pytest.approx(noam(10_000, 512, 4000) / 2)
