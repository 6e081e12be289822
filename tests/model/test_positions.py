"""Any start, any length, a table with an end; the values are in tests/notes/test_positions.py."""

import pytest
import torch

from regard.errors import MisuseError
from regard.model.positions import Positions
from regard.model.spec import Spec


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
