"""Dropout: each number is zeroed with probability `rate`, the rest is scaled by 1/(1 - rate).

One function for the whole model, on torch's default generator, whose state a run saves. torch's own
dropout draws one random number per element; drawing 64 random bits for four elements is several
times cheaper on a CPU (docs/decisions/0002-training-speed.md) and gives rates exact to 1/65536.
"""

import torch
from torch import Tensor

_STEPS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """x with dropout when training, else x itself."""
    if not training or rate == 0.0:
        return x
    return x * keep_mask(x, rate)


def keep_mask(x: Tensor, rate: float) -> Tensor:
    """A tensor like x that holds 0 with probability `rate` and 1/(1 - rate) elsewhere."""
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=x.device)
    bits.random_(-(1 << 63), None)  # all 64 bits are random
    draws = bits.view(torch.int16)[:count].view(x.shape)
    dropped = round(rate * _STEPS)
    threshold = dropped - _STEPS // 2  # int16 runs from -32768
    return (draws >= threshold).to(x.dtype).mul_(_STEPS / (_STEPS - dropped))
