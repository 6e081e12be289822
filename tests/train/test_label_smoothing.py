"""The smoothed loss and its hand-written gradient against torch's own, and a number by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from regard.train.label_smoothing import smoothed_cross_entropy


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
