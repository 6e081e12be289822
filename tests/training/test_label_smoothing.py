"""The smoothed loss and its hand-written gradient against torch's own, and a number by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from regard.training import label_smoothing
from regard.training.label_smoothing import projected_cross_entropy, smoothed_cross_entropy


def test_by_hand() -> None:
    """V = 4, logits (0, 0, 0, ln 5): p = (1, 1, 1, 5)/8."""
    logits, truth = torch.tensor([[0.0, 0, 0, math.log(5)]]), torch.tensor([3])
    loss = smoothed_cross_entropy(logits, truth, 0.1)
    right = -math.log(5 / 8)
    spread = (3 * math.log(8) + right) / 4
    assert float(loss.plain) == pytest.approx(right)
    assert float(loss.smoothed) == pytest.approx(0.9 * right + 0.1 * spread)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_loss_and_gradient_equal_torchs(epsilon: float) -> None:
    truth = torch.randint(0, 13, (7,))
    ours = torch.randn(7, 13, dtype=torch.float64).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    loss = smoothed_cross_entropy(ours, truth, epsilon)
    expected = F.cross_entropy(theirs, truth, label_smoothing=epsilon, reduction="sum")
    assert float(loss.smoothed.detach()) == pytest.approx(float(expected.detach()), rel=1e-12)
    (loss.smoothed / 5).backward()
    (expected / 5).backward()
    assert ours.grad is not None and theirs.grad is not None
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-14)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_in_pieces_it_equals_torchs_own(
    epsilon: float, biased: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many tokens a piece has, loss and gradients are those of the whole."""
    monkeypatch.setattr(label_smoothing, "PIECE", rows * 4 * 13)
    truth = torch.randint(0, 13, (7,))
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(13, 5, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(13, dtype=torch.float64, requires_grad=True) if biased else None
    leaves = [x, weight, *([] if bias is None else [bias])]
    loss = projected_cross_entropy(x, weight, bias, truth, epsilon)
    logits = F.linear(x, weight, bias)
    expected = F.cross_entropy(logits, truth, label_smoothing=epsilon, reduction="sum")
    plain = F.cross_entropy(logits, truth, reduction="sum")
    assert float(loss.smoothed.detach()) == pytest.approx(float(expected.detach()), rel=1e-12)
    assert float(loss.plain) == pytest.approx(float(plain.detach()), rel=1e-12)
    got = torch.autograd.grad(loss.smoothed / 5, leaves)
    wanted = torch.autograd.grad(expected / 5, leaves)
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(got, wanted, strict=True))


def test_far_logits_stay_finite() -> None:
    """p(y) is e^-500, which single precision cannot hold; its logarithm can."""
    x, weight = torch.tensor([[500.0]]), torch.tensor([[1.0], [0.0]])
    loss = projected_cross_entropy(x, weight, None, torch.tensor([1]), 0.0)
    assert float(loss.plain) == 500.0


def test_without_gradients_none_are_made() -> None:
    x, weight = torch.randn(4, 3), torch.randn(9, 3, requires_grad=True)
    with torch.inference_mode():
        loss = projected_cross_entropy(x, weight, None, torch.tensor([1, 2, 3, 4]), 0.1)
    assert not loss.smoothed.requires_grad
