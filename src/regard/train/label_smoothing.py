"""Label smoothing (section 5.4): the target is not certain, a share ε is spread over all V tokens.

q(t) = (1 - ε)·[t = y] + ε/V
loss = -Σ_t q(t) log p(t) = (1 - ε)·(-log p(y)) + ε·mean_t(-log p(t))
∂loss/∂logit(t) = p(t) - q(t)
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """Sums over tokens: the smoothed loss that is minimised, and the plain one that is reported."""

    smoothed: Float[Tensor, ""]
    plain: Float[Tensor, ""]


def smoothed_cross_entropy(
    logits: Float[Tensor, "T V"], truth: Int[Tensor, " T"], epsilon: float
) -> Loss:
    """Both losses, summed over the T tokens, in nats."""
    right, spread = _CrossEntropy.apply(logits, truth, epsilon)  # type: ignore[no-untyped-call]
    return Loss((1 - epsilon) * right + epsilon * spread, right.detach())


class _CrossEntropy(torch.autograd.Function):
    """Σ -log p(y) and Σ mean(-log p), with the gradient written out.

    Left to autograd, the mean and the gather each make a matrix of T·V numbers on the way back;
    p - q needs one, made in the memory of log p (docs/decisions/0002-training-speed.md).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, truth: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        log_p = torch.log_softmax(logits, dim=-1)
        ctx.save_for_backward(log_p, truth)
        return -log_p.gather(-1, truth[:, None]).sum(), -log_p.mean(dim=-1).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        to_right, to_spread = gradients
        log_p, truth = ctx.saved_tensors
        # p·(a + b) - b/V everywhere, and -a more at the true token, for the factors a and b of the
        # two sums. log p is not needed again: a graph is walked once.
        gradient = log_p.exp_().mul_(to_right + to_spread).sub_(to_spread / log_p.shape[-1])
        gradient.scatter_add_(-1, truth[:, None], -to_right.expand(len(truth), 1))
        return gradient, None, None
