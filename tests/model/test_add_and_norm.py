"""Post-norm and pre-norm, and layer norm against the notes' table."""

import pytest
import torch

from regard.model.add_and_norm import AddAndNorm, make_norm
from regard.model.spec import Spec


def test_layer_norm_of_the_notes_table() -> None:
    """z1 z2 z3 of s1 … s5, ε → 0."""
    z = torch.tensor([[7.0, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]])
    norm = make_norm(
        Spec(vocabulary=3, d_model=3, heads=1, positions="learned", norm_epsilon=1e-12)
    )
    expected = [
        [1.3363, -0.2673, -1.0690],
        [-1.2247, 0, 1.2247],
        [-1.2247, 0, 1.2247],
        [1.2247, -1.2247, 0],
        [-0.7071, -0.7071, 1.4142],
    ]
    assert torch.allclose(norm(z), torch.tensor(expected), atol=5e-5)


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
