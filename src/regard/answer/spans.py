"""Logits of a window → the spans that may be its answer, the best first.

    score(i, j) = s_i + e_j        i ≤ j < i + longest, both places of the context
    null        = s_0 + e_0        the window does not hold the answer

All of them are compared, not those of the best beginnings and ends alone: a band of S · longest
sums is little.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LONGEST = 30  # tokens of an answer, as BERT's authors chose


@dataclass(frozen=True)
class PlacedSpan:
    """The places of its first and last token, and s_i + e_j."""

    begin: int
    end: int
    score: float


def span_band(
    logits: Float[Tensor, "B S 2"], context: Bool[Tensor, "B S"], longest: int = LONGEST
) -> Float[Tensor, "B S W"]:
    """score(i, i + w) at [i, w]; -inf where it is no span of the context."""
    begin = logits[..., 0].masked_fill(~context, -torch.inf)
    end = logits[..., 1].masked_fill(~context, -torch.inf)
    padded = torch.nn.functional.pad(end, (0, longest - 1), value=-torch.inf)
    return begin[..., None] + padded.unfold(1, longest, 1)


def best_spans(band: Float[Tensor, "S W"], count: int) -> list[PlacedSpan]:
    """The best spans of one window, best first; fewer than `count` where it has no more."""
    top = band.flatten().topk(min(count, band.numel()))
    places = (divmod(place, band.shape[1]) for place in top.indices.tolist())
    return [
        PlacedSpan(begin, begin + width, value)
        for (begin, width), value in zip(places, top.values.tolist(), strict=True)
        if value != -torch.inf
    ]
