"""The schedules beside those of torch, and by hand; Noam's values: tests/notes/test_schedule.py."""

import random
import warnings

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

from regard.training.schedule import constant, cosine, noam, plateau


def test_the_peak_is_at_warmup_and_factor_scales() -> None:
    rates = [noam(step, 64, 50) for step in range(1, 200)]
    assert rates.index(max(rates)) == 49
    assert noam(10, 64, 50, factor=2.5) == pytest.approx(2.5 * noam(10, 64, 50))


def sgd(rate: float) -> torch.optim.SGD:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def test_cosine_is_torchs_after_the_warm_up() -> None:
    optimizer = sgd(0.3)
    expected = CosineAnnealingLR(optimizer, T_max=37, eta_min=0.02)
    for step in range(5, 5 + 37 + 1):
        assert cosine(step, 0.3, 5, 42, 0.02) == pytest.approx(expected.get_last_lr()[0], rel=1e-12)
        with warnings.catch_warnings(action="ignore"):  # no optimizer step: only the rate is asked
            expected.step()


def test_cosine_by_hand() -> None:
    """Peak 1, floor 0.2, 4 steps of warm-up, 8 of half a wave: a third of it is cos 60° = 0.5."""
    rates = [cosine(step, 1.0, 4, 10, 0.2) for step in range(1, 13)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[5] == pytest.approx(0.2 + 0.8 * 0.75)  # (1 + cos 60°) / 2
    assert rates[6] == pytest.approx(0.6)  # the middle
    assert rates[9:] == pytest.approx([0.2, 0.2, 0.2])  # the last step, and whatever follows


def test_constant_and_plateau_by_hand() -> None:
    rates = [constant(step, 0.5, 4) for step in (1, 2, 3, 4, 900)]
    assert rates == [0.125, 0.25, 0.375, 0.5, 0.5]
    assert plateau(9, 0.8, 3, 0.5, cuts=2) == 0.2
    assert plateau(9, 0.8, 3, 0.5, cuts=9, floor=0.1) == 0.1
    assert plateau(1, 0.8, 4, 0.5, cuts=1) == 0.1  # still in the warm-up


@pytest.mark.parametrize("patience", [1, 2, 4])
def test_plateau_cuts_when_torch_does(patience: int) -> None:
    """torch reduces when *more* than `patience` were no better: ours is its patience + 1."""
    from regard.runs.rates import count_validation, rate_at
    from regard.runs.sections import TrainSection
    from regard.training.state import Progress

    train = TrainSection(
        schedule="plateau", rate=0.4, floor=0.03, plateau_factor=0.6, warmup=1,
        plateau_patience=patience,
    )  # fmt: skip
    optimizer = sgd(0.4)
    expected = ReduceLROnPlateau(
        optimizer, factor=0.6, patience=patience - 1, threshold=0.0, min_lr=0.03, eps=0.0
    )
    chance, progress, best, cuts = random.Random(patience), Progress(), float("inf"), 0
    for number in range(1, 60):
        loss = 5.0 / number + chance.random()
        better = loss < best
        best = min(best, loss)
        said = count_validation(train, progress, better)
        expected.step(loss)
        cuts += said is not None
        got = rate_at(100, train, 64, progress)
        assert got == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12), number
    assert cuts >= 3 and progress.rate_cuts == cuts


def test_other_schedules_do_not_count() -> None:
    from regard.runs.rates import count_validation
    from regard.runs.sections import TrainSection
    from regard.training.state import Progress

    progress = Progress()
    for _ in range(9):
        assert count_validation(TrainSection(plateau_patience=1), progress, better=False) is None
    assert (progress.rate_cuts, progress.since_cut) == (0, 0)
