"""The vectors of a text's tokens become one.

mean   Σ x_i / n over the n real tokens, special ones too
cls    x_1, that of the first token
max    the largest of each number
"""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def _mean(x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]) -> Float[Tensor, "B D"]:
    weights = real[..., None].to(x.dtype)
    return (x * weights).sum(dim=1) / weights.sum(dim=1)


def _first(x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]) -> Float[Tensor, "B D"]:
    return x[:, 0]


def _max(x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]) -> Float[Tensor, "B D"]:
    return x.masked_fill(~real[..., None], -torch.inf).amax(dim=1)


POOL: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {"mean": _mean, "cls": _first, "max": _max}
