"""FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, by hand and by shape."""

import torch

from regard.model.feed_forward import FeedForward
from regard.model.spec import Spec
from regard.model.trace import Trace


def test_shapes_of_the_notes() -> None:
    """3×512 → 3×2048 → 3×512."""
    trace = Trace()
    y = FeedForward(Spec(vocabulary=3))(torch.randn(1, 3, 512), trace)
    assert trace["hidden"].shape == (1, 3, 2048)
    assert y.shape == (1, 3, 512)


def test_by_hand() -> None:
    ffn = FeedForward(Spec(vocabulary=3, d_model=2, heads=1, ffn_size=3))
    with torch.no_grad():
        ffn.inner.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
        ffn.inner.bias.copy_(torch.tensor([0.0, 0, -4]))
        ffn.outer.weight.copy_(torch.tensor([[1.0, 2, 3], [0, 1, 0]]))
        ffn.outer.bias.copy_(torch.tensor([0.5, 0]))
    # x = (2, -1): hidden = max(0, (2, -1, -3)) = (2, 0, 0) → (2.5, 0)
    # x = (3, 2):  hidden = (3, 2, 1) → (3 + 4 + 3 + 0.5, 2)
    y = ffn(torch.tensor([[[2.0, -1], [3, 2]]]))
    assert y.tolist() == [[[2.5, 0], [10.5, 2]]]


def test_each_position_alone() -> None:
    ffn = FeedForward(Spec(vocabulary=3, d_model=6, heads=1, ffn_size=5)).double()
    x = torch.randn(1, 4, 6, dtype=torch.float64)
    one_by_one = torch.cat([ffn(x[:, i : i + 1]) for i in range(4)], dim=1)
    assert torch.allclose(ffn(x), one_by_one, atol=1e-12)


def test_hidden_dropout_is_its_own_key() -> None:
    ffn = FeedForward(Spec(vocabulary=3, d_model=6, heads=1, ffn_size=50, ffn_dropout=0.5))
    x = torch.randn(1, 4, 6)
    assert not torch.equal(ffn(x), ffn(x))
    assert torch.equal(ffn.eval()(x), ffn(x))
