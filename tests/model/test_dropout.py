"""Dropout: the right share, the right scale, reproducible, and nothing when not training."""

import pytest
import torch

from regard.model.dropout import dropout, keep_mask


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_share_and_scale(rate: float) -> None:
    mask = keep_mask(torch.empty(1000, 999), rate)
    values = mask.unique().tolist()
    assert values == pytest.approx([0, 1 / (1 - rate)], rel=1e-4)
    share = float((mask == 0).float().mean())
    assert share == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 1e6) ** 0.5)


def test_neighbours_are_independent() -> None:
    """Four draws share one 64-bit number; none of them may follow from another."""
    kept = (keep_mask(torch.empty(400_000), 0.5) > 0).double().view(-1, 4)
    correlation = torch.corrcoef(kept.T)
    assert float((correlation - torch.eye(4)).abs().max()) < 0.02


def test_same_state_same_mask_and_the_gradient_sees_it() -> None:
    x = torch.randn(7, 5, requires_grad=True)
    torch.manual_seed(3)
    y = dropout(x, 0.5, training=True)
    y.sum().backward()
    torch.manual_seed(3)
    mask = keep_mask(x, 0.5)
    assert torch.equal(y, x * mask)
    assert x.grad is not None and torch.equal(x.grad, mask)


def test_nothing_happens_when_not_training_or_at_rate_0() -> None:
    x = torch.randn(3)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
