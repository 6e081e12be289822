"""Label smoothing (section 5.4): the target is not certain, a share ε is spread over all V tokens.

q(t) = (1 - ε)·[t = y] + ε/V
loss = -Σ_t q(t) log p(t) = (1 - ε)·(-log p(y)) + ε·mean_t(-log p(t))
∂loss/∂logit(t) = p(t) - q(t)

Two paths, tested equal: `smoothed_cross_entropy` has all logits; `projected_cross_entropy` is given
the vectors before the output matrix and holds the logits of some tokens at a time.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

# Bytes of logits at a time: they stay in the cache between the product and their gradient.
PIECE = 16 << 20


@dataclass(frozen=True)
class SummedLoss:
    """Sums over tokens: the smoothed loss that is minimised, and the plain one that is reported."""

    smoothed: Float[Tensor, ""]
    plain: Float[Tensor, ""]


def widened(x: Tensor) -> Tensor:
    """bf16 as fp32, all else as it is: what is summed up is not kept in half precision."""
    return x.float() if x.dtype == torch.bfloat16 else x


def smoothed_cross_entropy(
    logits: Float[Tensor, "T V"], truth: Int[Tensor, " T"], epsilon: float
) -> SummedLoss:
    """Both losses, summed over the T tokens, in nats."""
    log_p = torch.log_softmax(widened(logits), dim=-1)
    right = -log_p.gather(-1, truth[:, None]).sum()
    spread = -log_p.mean(dim=-1).sum()
    return SummedLoss((1 - epsilon) * right + epsilon * spread, right.detach())


def projected_cross_entropy(
    x: Float[Tensor, "T D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    truth: Int[Tensor, " T"],
    epsilon: float,
) -> SummedLoss:
    """The same of the logits x Eᵀ + b, which are never all there at once."""
    smoothed, plain = _ProjectedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        x, weight, bias, truth, epsilon, torch.is_grad_enabled()
    )
    return SummedLoss(smoothed, plain)


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The gradient is known as soon as the loss is: both are made piece by piece, going forward.

    p - q is written into the memory of p; left to autograd, T·V numbers would be made, kept and
    made again (docs/decisions/0006-training-speed.md).
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        truth: Tensor,
        epsilon: float,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        vocabulary = len(weight)
        # Sums of a half precision are kept in single precision.
        wide = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
        to_x = torch.empty_like(x) if learning else None
        to_weight = torch.zeros_like(weight, dtype=wide) if learning else None
        to_bias = torch.zeros_like(bias, dtype=wide) if learning and bias is not None else None
        right = torch.zeros((), dtype=wide, device=x.device)
        spread = torch.zeros((), dtype=wide, device=x.device)
        rows = max(1, PIECE // (4 * vocabulary))
        for start in range(0, len(x), rows):
            piece, y = x[start : start + rows], truth[start : start + rows, None]
            logits = F.linear(piece, weight, bias).to(wide)
            highest = logits.amax(dim=-1)
            p = logits.softmax(dim=-1)
            # The largest p is e^0 / Σ: log Σ e^logit follows without another pass of exponentials.
            log_sum = highest - p.amax(dim=-1).log()
            right += (log_sum - logits.gather(-1, y).squeeze(-1)).sum()
            spread += (log_sum - logits.mean(dim=-1)).sum()
            if to_x is None or to_weight is None:
                continue
            p.sub_(epsilon / vocabulary)
            p.scatter_add_(-1, y, p.new_full(y.shape, epsilon - 1))  # p - q
            gradient = p.to(x.dtype)
            torch.mm(gradient, weight, out=to_x[start : start + rows])
            if wide == x.dtype:
                to_weight.addmm_(gradient.T, piece)
            else:
                to_weight += gradient.T @ piece
            if to_bias is not None:
                to_bias += p.sum(dim=0)
        if learning:
            ctx.save_for_backward(to_x, to_weight, to_bias)
            ctx.dtype = weight.dtype
        smoothed = (1 - epsilon) * right + epsilon * spread
        ctx.mark_non_differentiable(right)
        return smoothed, right

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        to_x, to_weight, to_bias = ctx.saved_tensors
        factor = gradients[0]
        scaled = (
            None if to is None else to.mul_(factor).to(ctx.dtype)
            for to in (to_x, to_weight, to_bias)
        )
        return *scaled, None, None, None
