"""Logits of a window → the spans that may be its answer, the best first.

    score(i, j) = s_i + e_j        i ≤ j < i + longest, both places of the context
    null        = s_0 + e_0        the window does not hold the answer

All of them are compared, not those of the best beginnings and ends alone: a band of S · longest
sums is little.
"""

from collections.abc import Callable
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


def best_spans(band: Float[Tensor, "S W"], count: int, is_new: Callable[[int, int], bool]) -> list[PlacedSpan]:
    """The `count` best spans of one window, best first, as far as `is_new` likes them."""
    values, places = band.flatten().sort(descending=True, stable=True)
    chosen: list[PlacedSpan] = []
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        if value == -torch.inf or len(chosen) == count:
            break
        begin, width = divmod(place, band.shape[1])
        if is_new(begin, begin + width):
            chosen.append(PlacedSpan(begin, begin + width, value))
    return chosen
