"""Loss curves: they open, show every series, and appear whole or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.draw import palette
from regard.draw.figure.loss_curve import best_in_words, loss_curve_png
from regard.draw.figure.plot import smoothed


def opened(path: Path) -> Any:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    return (imread(path)[..., :3] * 255).round().astype(int)


def has(picture: Any, colour: str) -> bool:
    return bool((np.abs(picture - np.array(palette.channels(colour))).max(-1) <= 2).sum() > 20)


def test_loss_curve_with_everything(tmp_path: Path) -> None:
    steps = np.arange(1, 301)
    losses = 2 + 5 * np.exp(-steps / 60) + np.random.default_rng(0).normal(size=300) / 5
    losses[100:120] = np.nan
    checks = [(50.0, 4.5), (150.0, 3.0), (250.0, 2.4)]
    path = tmp_path / "loss.png"
    loss_curve_png(
        path, steps.tolist(), losses.tolist(), checks, [(250, 21.5)], (1 / steps).tolist()
    )
    picture = opened(path)
    assert picture.shape == (1040, 1800, 3)
    for colour in (palette.TRAINING, palette.VALIDATION, palette.BLEU, palette.LIGHT.hairline):
        assert has(picture, colour)
    assert (picture[:8] == 255).all() and (picture[:, :8] == 255).all()  # nothing leaves the page
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("losses", [[3.0], [np.nan], [3.0, np.nan, 2.0], []])
def test_loss_curve_with_hardly_anything(tmp_path: Path, losses: list[float]) -> None:
    path = tmp_path / "loss.png"
    loss_curve_png(path, list(range(1, len(losses) + 1)), losses, title="")
    assert has(opened(path), palette.TRAINING)


def test_loss_curve_checks_lengths(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got 2 steps, 1 losses, none learning rates"):
        loss_curve_png(tmp_path / "x.png", [1, 2], [1.0])
    assert not list(tmp_path.iterdir())


def test_smoothing_keeps_gaps_and_levels_and_ignores_one_spike() -> None:
    flat = np.full(800, 2.0)
    assert np.allclose(smoothed(flat), 2)
    flat[400], flat[100:110] = 50, np.nan
    smooth = smoothed(flat)
    assert np.isnan(smooth[100:110]).all() and np.isfinite(np.delete(smooth, range(100, 110))).all()
    assert np.nanmax(smooth) < 2 + 48 / 21 * 0.8  # a plain mean over 21 steps would add 48 / 21
    assert smoothed(np.array([5.0])) == 5.0 and smoothed(np.array([])).size == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_end_of_a_smoothed_line_does_not_dive_or_shoot(seed: int) -> None:
    """A loss that has come to rest at 2 ± 0.4: its line ends as near to 2 as it goes on."""
    chance = np.random.default_rng(seed)
    losses = 2 + 7 * np.exp(-np.arange(800) / 40) + chance.normal(size=800) * 0.4
    losses[-3:] -= 0.8 if seed % 2 else -0.8
    smooth = smoothed(losses)
    assert np.abs(smooth[-10:] - 2).max() < 0.45
    assert abs(smooth[0] - 9) < 1.2  # and the start is still that of the run


def test_best_in_words() -> None:
    assert best_in_words([], []) == ""
    words = best_in_words([(10, 3.0), (2000, 2.5), (30, np.nan)], [(10, 1.0), (20, 7.0)])
    assert words == "best validation loss 2.500 at step 2,000  ·  best BLEU 7.0 at step 20"


def test_a_share_is_told_more_finely_than_a_score_of_a_hundred() -> None:
    assert best_in_words([], [(10, 0.91277), (20, 0.9)], "accuracy") == (
        "best accuracy 0.9128 at step 10"
    )
    assert best_in_words([], [(10, 35.25)]) == "best BLEU 35.2 at step 10"
    errors = best_in_words([], [(10, 0.44), (20, 0.18), (30, 0.18)], "words off", True)
    assert errors == "best words off 0.1800 at step 20"
