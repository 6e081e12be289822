"""Attention for the short sequences of training, with its gradient written out.

    S = scale · Q Kᵀ + M       P = softmax(S)       O = P V

    dV = Pᵀ dO      dP = dO Vᵀ      dS = P ⊙ (dP - rowsum(P ⊙ dP))      dQ = scale · dS K
                                                                       dK = scale · dSᵀ Q

The same numbers as `explicit_attention` under autograd, with a third of the passes over the scores:
M is a table of 0 and -∞ that is added while scaling, because filling by a mask of booleans costs
more on a CPU than a product does (docs/decisions/0006-training-speed.md).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.masks import Mask, additive


def short_attention(
    q: Float[Tensor, "B H L K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    mask: Mask,
    scale: float,
) -> Float[Tensor, "B H L K"]:
    """softmax(scale · Q Kᵀ + M) V; a mask with a learned bias is not for this path."""
    assert mask.bias is None, "the gradient of a learned bias is not written out here"
    allowed = mask.allowed(q.shape[2], k.shape[2], q.device)
    hidden = None if allowed is None else additive(allowed, q.dtype)
    heads: Tensor = _ShortAttention.apply(q, k, v, hidden, scale)  # type: ignore[no-untyped-call]
    return heads


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, scale: float
    ) -> Tensor:
        batch, heads, length, size = q.shape
        q, k, v = (x.reshape(batch * heads, -1, size) for x in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)).view(batch, heads, length, -1)
        if hidden is None:
            scores.mul_(scale)
        else:
            torch.add(hidden, scores, alpha=scale, out=scores)
        weights = scores.softmax(dim=-1).view(batch * heads, length, -1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale, ctx.batch = scale, batch
        return torch.bmm(weights, v).view(batch, heads, length, size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        (to_heads,) = (x.reshape(q.shape) for x in gradients)
        to_v = torch.bmm(weights.transpose(1, 2), to_heads)
        to_weights = torch.bmm(to_heads, v.transpose(1, 2))
        to_scores = torch.ops.aten._softmax_backward_data(to_weights, weights, -1, weights.dtype)
        to_scores.mul_(ctx.scale)
        to_q = torch.bmm(to_scores, k)
        to_k = torch.bmm(to_scores.transpose(1, 2), q)
        shaped = (x.view(ctx.batch, -1, *x.shape[1:]) for x in (to_q, to_k, to_v))
        return *shaped, None, None
