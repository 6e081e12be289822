"""Post-norm and pre-norm; the notes' table is in tests/notes/test_norms.py."""

import pytest
import torch

from regard.model.add_and_norm import AddAndNorm
from regard.model.spec import Spec


@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_order_of_norm_is_data(order: str) -> None:
    spec = Spec(vocabulary=3, d_model=4, heads=1, norm_order=order, dropout=0.0)
    wrapped, norm = AddAndNorm(spec), torch.nn.LayerNorm(4)
    x = torch.randn(2, 3, 4)
    got = wrapped(x, lambda y: 3 * y)
    expected = norm(x + 3 * x) if order == "post" else x + 3 * norm(x)
    assert torch.allclose(got, expected, atol=1e-6)


def test_dropout_is_on_the_sub_layer_not_on_the_residual() -> None:
    spec = Spec(vocabulary=3, d_model=4, heads=1, norm_order="pre", dropout=0.5)
    x = torch.ones(1, 500, 4)
    added = AddAndNorm(spec)(x, lambda y: torch.ones_like(y)) - x
    assert set(added.unique().tolist()) == {0.0, 2.0}
