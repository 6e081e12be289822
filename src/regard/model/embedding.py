"""Embedding: ids → vectors × √d_model, plus positions, then dropout (sections 3.4, 3.5 and 5.4)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import MisuseError
from regard.model.add_and_norm import make_norm
from regard.model.dropout import dropout
from regard.model.positions import Positions
from regard.model.spec import Spec
from regard.model.trace import Trace


class Embedding(nn.Module):
    """x = dropout(norm(E[ids] · √d_model + segment + PE))

    The factor brings the rows of a matrix that is also the output projection (entries of size
    1/√d_model) to the size of the position vectors. Factor, segments, PE and norm are there as the
    spec says.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.vocabulary, spec.d_model))
        self.segments = (
            nn.Parameter(torch.empty(spec.segments, spec.d_model)) if spec.segments else None
        )
        added = spec.positions in ("sinusoidal", "halves", "learned")
        self.positions = Positions(spec) if added else None
        self.norm = make_norm(spec) if spec.embedding_norm else nn.Identity()
        self.scale = math.sqrt(spec.d_model) if spec.embedding_scale else 1.0
        self.dropout = spec.dropout

    def forward(
        self,
        ids: Int[Tensor, "B L"],
        start: int = 0,
        trace: Trace | None = None,
        segments: Int[Tensor, "B L"] | None = None,
        positions: Int[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """Vectors for `ids`, whose first one stands at position `start` (or all at `positions`)."""
        rows = F.embedding(ids, self.weight)
        return self.assembled(rows, start, trace, segments, positions)

    def assembled(
        self,
        rows: Float[Tensor, "B L D"],
        start: int = 0,
        trace: Trace | None = None,
        segments: Int[Tensor, "B L"] | None = None,
        positions: Int[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """The same for rows of E, or for points between rows (explain/gradients.py)."""
        x = embedded = rows * self.scale
        if self.segments is not None:  # a model without them reads a pair as one text
            chosen = segments_for(rows, segments, len(self.segments))
            segment = F.embedding(chosen, self.segments)
            x = x + segment
            if trace:
                trace.record("segment", segment)
        if self.positions is not None:
            if positions is None:
                position = self.positions(rows.shape[1], start)
            else:
                position = self.positions.at(positions)
            x = x + position
            if trace:
                trace.record("position", position)
        if trace:
            trace.record("rows", rows)
            trace.record("embedding", embedded)
            trace.record("sum", x)
        normed = self.norm(x)
        if trace and normed is not x:
            trace.record("norm", normed)
        return dropout(normed, self.dropout, self.training)


def segments_for(
    rows: Float[Tensor, "B L D"], segments: Int[Tensor, "B L"] | None, count: int
) -> Int[Tensor, "B L"]:
    """The segment of each place, all 0 if none are given; one that a model has not is refused."""
    if segments is None:
        return torch.zeros(rows.shape[:2], dtype=torch.long, device=rows.device)
    highest = int(segments.max())
    if highest >= count:
        raise MisuseError(
            "segments",
            f"got segment {highest}, this model has {count} segment{'s' * (count > 1)}, counted "
            "from 0",
            advice="give it one text instead of a pair",
        )
    return segments
