"""Which steps are not taken, by numbers worked out by hand; what is remembered."""

import math

from regard.training.state import Progress
from regard.training.watch import WINDOW, go_on_from, reason_to_skip, remember

# Half of them 1, half of them 3: mean 2, standard deviation 1, so the bound is 2 + 6 · 1.
WIDE = [1.0, 3.0] * (WINDOW // 2)
# All the same: no deviation, so the bound is 3 nats above.
NARROW = [0.25] * WINDOW


def test_bounds_by_hand() -> None:
    assert reason_to_skip(8.0, 1.0, WIDE) is None
    above = reason_to_skip(8.01, 1.0, WIDE)
    assert above is not None and above.is_spike
    assert above.reason == ("the loss jumped to 8.010 (it was 2.000 ± 1.000 in the last 100 steps)")
    assert reason_to_skip(3.25, 1.0, NARROW) is None
    assert reason_to_skip(3.26, 1.0, NARROW) is not None


def test_too_short_a_past_is_no_past() -> None:
    assert reason_to_skip(1000.0, 1.0, NARROW[1:]) is None


def test_what_is_no_number() -> None:
    for loss, norm, said in (
        (math.nan, 1.0, "the loss is nan"),
        (math.inf, 1.0, "the loss is inf"),
        (1.0, math.inf, "the gradient's norm is inf"),
        (1.0, math.nan, "the gradient's norm is nan"),
    ):
        skip = reason_to_skip(loss, norm, [])
        assert skip is not None and skip.reason == said and not skip.is_spike


def test_counts_of_a_bad_stretch() -> None:
    progress = Progress()
    spike, nan = reason_to_skip(9.0, 1.0, WIDE), reason_to_skip(math.nan, 1.0, WIDE)
    for loss, skip in ((1.0, None), (9.0, spike), (9.0, spike), (math.nan, nan), (9.0, spike)):
        remember(progress, loss, skip)
    assert (progress.skipped, progress.in_a_row, progress.spikes) == (4, 4, 1)
    assert progress.recent == (1.0,)
    remember(progress, 2.0, None)
    assert (progress.skipped, progress.in_a_row, progress.spikes) == (4, 0, 0)
    for i in range(WINDOW):
        remember(progress, float(i), None)
    assert progress.recent == tuple(map(float, range(WINDOW)))


def test_going_back_keeps_the_place() -> None:
    left = Progress(step=9, epoch=2, batch=7, seconds=5.0, skipped=3, rollbacks=1, spikes=3)
    taken_up = Progress(step=4, epoch=1, batch=1, seconds=1.0, best_step=4)
    go_on_from(taken_up, left)
    assert taken_up == Progress(
        step=4, epoch=2, batch=7, seconds=5.0, skipped=3, rollbacks=2, best_step=4
    )
