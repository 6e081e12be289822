"""Rotary positions: queries and keys are turned by their position, so scores see the distance only.

    pair i of a head: (x_i, x_{i+K/2}) is turned by the angle  p · base^(-2i/K)

    rot(q, p) · rot(k, s) depends on p - s alone.

The two halves of a head form the pairs, as in published checkpoints. A model can be stretched to
longer texts than it was trained on by slowing the rotations down: all of them by a factor
(`linear`), or only the slow ones (`slow`).
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.spec import Spec

Rotation = tuple[Tensor, Tensor]  # cosines and sines, each (B or 1, 1, L, K)


def frequencies(spec: Spec) -> Float[Tensor, " half"]:
    """The angle by which each pair turns from one position to the next."""
    exponent = torch.arange(0, spec.k, 2, dtype=torch.int64, device="cpu").float() / spec.k
    plain = 1.0 / spec.rotary_base**exponent
    if spec.rotary_scaling == "none":
        return plain
    if spec.rotary_scaling == "linear":
        return plain / spec.rotary_factor
    low, high = spec.rotary_low, spec.rotary_high
    waves = 2 * math.pi / plain
    # 0 for waves that the trained length holds fewer than `low` times, 1 from `high` times on
    share = ((spec.rotary_length / waves - low) / (high - low)).clamp(0, 1)
    return (1 - share) * plain / spec.rotary_factor + share * plain


class Rotary(nn.Module):
    """Positions → the rotation that attention applies to queries and keys."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.register_buffer("frequencies", frequencies(spec), persistent=False)
        self.frequencies: Tensor

    def forward(self, positions: Int[Tensor, "#B L"]) -> Rotation:
        angles = positions[:, None, :, None].float() * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


def rotated(x: Float[Tensor, "B H L K"], rotation: Rotation) -> Float[Tensor, "B H L K"]:
    """x turned: (a, b) → (a cos - b sin, b cos + a sin) for the halves a, b of each head."""
    cosines, sines = (part.to(x.dtype) for part in rotation)
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat((-second, first), dim=-1) * sines
