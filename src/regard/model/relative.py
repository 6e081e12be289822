"""Relative positions: a learned number for each distance is added to the scores (once per stack).

Near distances have a bucket each, far ones share buckets that grow with the logarithm, and all
beyond `relative_distance` share the last. An encoder tells left from right; a decoder only looks
left.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.spec import Spec


def buckets(
    distance: Int[Tensor, "L S"], count: int, farthest: int, both_ways: bool
) -> Int[Tensor, "L S"]:
    """The bucket of each distance (key position - query position)."""
    offset = torch.zeros_like(distance)
    if both_ways:
        count //= 2
        offset = (distance > 0).long() * count
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = count // 2  # a bucket for each of the nearest distances
    share = torch.log(distance.float().clamp(min=1) / exact) / math.log(farthest / exact)
    far = (exact + (share * (count - exact)).long()).clamp(max=count - 1)
    return offset + torch.where(distance < exact, distance, far)


class RelativeBias(nn.Module):
    """The table (buckets, H) of one stack."""

    def __init__(self, spec: Spec, both_ways: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.relative_buckets, spec.heads))
        self.count, self.farthest = spec.relative_buckets, spec.relative_distance
        self.both_ways = both_ways

    def forward(self, queries: int, keys: int) -> Float[Tensor, "1 H L S"]:
        """The bias of the newest `queries` of `keys` positions."""
        device = self.weight.device
        query = torch.arange(keys - queries, keys, device=device)[:, None]
        distance = torch.arange(keys, device=device)[None] - query
        learned = self.weight[buckets(distance, self.count, self.farthest, self.both_ways)]
        return learned.permute(2, 0, 1)[None]
