"""Dropout: the right share, the right scale, reproducible, and nothing when not training."""

import pytest
import torch

from regard.model.dropout import add_dropout, drawing_from, dropout, keep_mask


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_share_and_scale(rate: float) -> None:
    mask, scale = keep_mask(torch.empty(1000, 999), rate)
    assert mask.unique().tolist() == [0, 1]
    assert scale == pytest.approx(1 / (1 - rate), rel=1e-4)
    share = float((mask == 0).float().mean())
    assert share == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 1e6) ** 0.5)


def test_neighbours_are_independent() -> None:
    """Four draws share one 64-bit number; none of them may follow from another."""
    mask, _ = keep_mask(torch.empty(400_000), 0.5)
    correlation = torch.corrcoef(mask.double().view(-1, 4).T)
    assert float((correlation - torch.eye(4)).abs().max()) < 0.02


def test_same_state_same_mask_and_the_gradient_sees_it() -> None:
    x = torch.randn(7, 5, requires_grad=True)
    torch.manual_seed(3)
    y = dropout(x, 0.5, training=True)
    y.sum().backward()
    torch.manual_seed(3)
    mask, scale = keep_mask(x, 0.5)
    assert torch.equal(y, x * (mask * scale))
    assert x.grad is not None and torch.equal(x.grad, mask * scale)


def test_the_sum_with_dropout_is_the_sum_of_both() -> None:
    x, y = torch.randn(2, 6, 5, dtype=torch.float64, requires_grad=True)
    found = []
    for together in (True, False):
        with drawing_from(torch.Generator().manual_seed(8)):
            z = add_dropout(x, y, 0.3, True) if together else x + dropout(y, 0.3, training=True)
        found.append((z, *torch.autograd.grad((z * z).sum(), (x, y))))
    assert all(torch.allclose(a, b, atol=1e-14) for a, b in zip(*found, strict=True))


def test_a_named_generator_leaves_the_default_one_alone() -> None:
    before = torch.get_rng_state()
    masks = []
    for _ in range(2):
        with drawing_from(torch.Generator().manual_seed(8)):
            masks.append(keep_mask(torch.empty(50), 0.5)[0])
    assert torch.equal(*masks)
    assert torch.equal(torch.get_rng_state(), before)


def test_nothing_happens_when_not_training_or_at_rate_0() -> None:
    x = torch.randn(3)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert torch.equal(add_dropout(x, x, 0.5, training=False), x + x)
