"""The attention filter: rollout by hand, gradients that add up, and whether the two agree."""

from pathlib import Path

import numpy as np
import pytest
import torch

import folders
import regard
from refusals import refused
from regard.answer.see import colours_of
from regard.api.model import Model
from regard.errors import MisuseError
from regard.explain.gradients import Attribution
from regard.explain.picture import (
    PictureFilter,
    filter_picture,
    patches_of,
    pixels_of,
    rolled_out,
    rollout_of,
)


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("vit") / "vit"
    folders.vit(folder)
    return regard.load(folder, "cpu")


def picture(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (12, 12, 3)).astype(np.uint8)


def test_rollout_by_hand() -> None:
    """Two layers of one head, a class token and two patches; ½ A + ½ I of each, multiplied."""
    first = np.array([[[0.2, 0.8, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]])
    second = np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    # row of the class token: (½, 0, ½) · [[.6, .4, 0], [0, 1, 0], [.25, 0, .75]]
    assert rolled_out([first, second]).tolist() == pytest.approx([0.2, 0.375])
    heads = np.concatenate((first, second))  # two heads: their mean
    assert rolled_out([heads]).tolist() == pytest.approx([0.2, 0.25])


def test_rollout_of_a_model_are_shares(vit: Model) -> None:
    colours = colours_of(vit, picture())
    pixels = torch.from_numpy(vit.bundle.pixels.numbers(colours[None]))[0]
    share = rollout_of(vit.transformer, pixels)
    assert share.shape == (16,) and (share > 0).all() and share.sum() < 1


def test_patches_are_those_of_the_model(vit: Model) -> None:
    pixels = torch.randn(3, 12, 12, generator=torch.Generator().manual_seed(1))
    rows = patches_of(pixels, vit.spec)
    assert rows.shape == (16, 27) and torch.equal(pixels_of(rows[None], vit.spec)[0], pixels)
    assert vit.transformer.patches is not None
    by_rows = vit.transformer.patches.map(rows)
    table = vit.transformer.patches(pixels[None])[0, 1:] - vit.transformer.patches.table[1:]
    assert (by_rows - table).abs().max() < 1e-5


def test_gradients_add_up_to_what_the_picture_changes(vit: Model) -> None:
    colours = colours_of(vit, picture())
    one = filter_picture(vit, colours)
    best, black = (vit.see(c)[0:] for c in (colours, np.zeros_like(colours)))
    assert (one.label, one.probability) == (best[0].label, pytest.approx(best[0].probability))
    before = next(label.probability for label in black if label.label == one.label)
    total = float(one.attribution.tokens.sum())
    assert total == pytest.approx(best[0].probability - before, abs=0.002)
    assert np.array_equal(one.gradients.ravel(), np.abs(one.attribution.tokens))
    other = filter_picture(vit, colours, label=best[1].label)
    assert other.label == best[1].label and other.probability < one.probability
    with refused(MisuseError, subject="label", got="unheard of"):
        filter_picture(vit, colours, label="unheard of")


def filter_of(rollout: list[float], gradients: list[float]) -> PictureFilter:
    grids = (np.array(values).reshape(5, 2) for values in (rollout, gradients))
    attribution = Attribution(np.array(gradients), 1.0, 0.0, 16)
    return PictureFilter("a", 0.9, np.full((10, 4, 1), 200, np.uint8), *grids, attribution)


def test_agreement_is_said() -> None:
    up = [float(n) for n in range(1, 11)]
    assert filter_of(up, up).sentence() == (
        "rollout and gradients agree (ρ 1.00, 100% of the upper fifth shared)"
    )
    apart = filter_of(up, up[::-1])
    assert apart.agreement == pytest.approx(-1) and apart.shared == 0
    assert "disagree" in apart.sentence()
    between = filter_of(up, [10.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    # Spearman's formula: 1 - 6 Σd² / (n (n² - 1)), d = -9 and nine times 1
    assert between.agreement == pytest.approx(1 - 6 * 90 / 990)
    assert "agree in part" in between.sentence() and between.shared == 0.5


def test_the_filtered_picture_is_as_bright_as_the_rollout() -> None:
    one = filter_of([float(n) for n in range(1, 11)], [1.0] * 10)
    assert one.filtered.shape == (10, 4, 1)
    assert one.filtered[0, 0, 0] == 20 and one.filtered[-1, -1, 0] == 200


def test_a_text_model_has_no_such_view(tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "")
    with pytest.raises(MisuseError, match="see: .* does not offer it"):
        filter_picture(regard.load(tmp_path / "bert", "cpu"), picture())
