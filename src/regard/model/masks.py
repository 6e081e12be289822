"""Masks: who may attend to whom; those of `regard.model` are made here and nowhere else.

    padding mask      keys that are real tokens, not padding          (B, S)
    look-ahead mask   key position ≤ query position (causal)          (L, S)
    document mask     key and query are of the same document          (B, L, S)

    relative bias     a number added to the score of each distance    (1, H, L, S)

True means *may attend*. A mask is carried in this small form and expanded only where a kernel needs
it; it is never derived from `ids == pad`, because some models start their output from pad. (The
torch engine, whose rows begin at different times, makes its own with `additive`: decode/slots.py.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Mask:
    """What one attention may see: `real` hides padding, `causal` the future, `documents` others."""

    real: Bool[Tensor, "B S"] | None = None
    causal: bool = False
    bias: Float[Tensor, "1 H L S"] | None = None
    documents: Int[Tensor, "B S"] | None = None  # of rows that several documents share

    def allowed(
        self, queries: int, keys: int, device: torch.device
    ) -> Bool[Tensor, "#B 1 #L S"] | None:
        """The mask expanded for scores (B, H, L, S); None when everything may be seen.

        The last query sits at the last key: with a cache, L queries are the newest of S positions.
        """
        allowed: Tensor | None = None
        if self.documents is not None:  # while training: all queries are there, so L = S
            own = self.documents[:, None, :, None] == self.documents[:, None, None, :]
            return own & look_ahead(queries, keys, device) if self.causal else own
        if self.real is not None:
            allowed = self.real[:, None, None, :]
        if self.causal and queries > 1:  # one newest query has no future to hide
            future = look_ahead(queries, keys, device)[None, None]
            if allowed is None:
                return future
            allowed = allowed & future
            # Padding before a text has nothing to look at; itself keeps its softmax finite.
            itself = torch.eye(keys, dtype=torch.bool, device=device)[keys - queries :]
            allowed = allowed | (~allowed.any(dim=-1, keepdim=True) & itself)
        return allowed


def look_ahead(queries: int, keys: int, device: torch.device) -> Bool[Tensor, "L S"]:
    """True at (i, j) where key j is not later than query i, queries aligned to the last keys."""
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return ones.tril(diagonal=keys - queries)


def additive(allowed: Bool[Tensor, "*B S"], dtype: torch.dtype) -> Float[Tensor, "*B S"]:
    """A mask to be added to scores: 0 where it allows, -∞ where it forbids."""
    zeros = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return zeros.masked_fill_(~allowed, -torch.inf)


def padded(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device
) -> tuple[Int[Tensor, "B L"], Bool[Tensor, "B L"]]:
    """Rows of ids as one table, `pad` behind the shorter ones, and its padding mask."""
    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]
