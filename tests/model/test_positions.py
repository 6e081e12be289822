"""Sinusoids against the hand-computed values of the notes (d_model 6, and 128 over 50 words)."""

import pytest
import torch

from regard.errors import MisuseError
from regard.model.positions import Positions, sinusoids
from regard.model.spec import Spec


def test_pe_of_0_1_and_2_for_d_model_6() -> None:
    expected = [
        [0, 1, 0, 1, 0, 1],
        [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000],
        [0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000],
    ]
    assert torch.allclose(sinusoids(3, 6), torch.tensor(expected), atol=5e-5)


def test_products_depend_on_distance_only() -> None:
    pe = sinusoids(60, 128).double()
    for p in (0, 7, 40):
        got = [float(pe[p] @ pe[p + k]) for k in (0, 1, 2, 5)]
        assert got == pytest.approx([64, 62.0937, 57.3819, 47.1850], abs=1e-3)


def test_later_dimensions_hardly_move() -> None:
    pe = sinusoids(50, 128).double()
    assert float(pe[:, 0].std(unbiased=False)) == pytest.approx(0.7078, abs=1e-4)
    assert float(pe[:, 127].std(unbiased=False)) == pytest.approx(5e-6, abs=1e-6)


def test_any_start_and_any_length() -> None:
    positions = Positions(Spec(vocabulary=5, d_model=8, heads=2))
    far = positions(700)
    assert torch.equal(positions(5, start=600), far[600:605])
    assert torch.equal(positions(3, start=254), far[254:257])


def test_a_learned_table_has_an_end() -> None:
    spec = Spec(vocabulary=5, d_model=8, heads=2, positions="learned", max_length=7)
    positions = Positions(spec)
    assert positions(7).shape == (7, 8)
    with pytest.raises(MisuseError, match="holds 7 positions, the text needs 8"):
        positions(1, start=7)
