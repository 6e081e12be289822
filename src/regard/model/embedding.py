"""Embedding: ids → vectors × √d_model, plus positions, then dropout (sections 3.4, 3.5 and 5.4)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.dropout import dropout
from regard.model.positions import Positions
from regard.model.spec import Spec
from regard.model.trace import Trace


class Embedding(nn.Module):
    """x = dropout(E[ids] · √d_model + PE)

    The factor brings the rows of a matrix that is also the output projection (entries of size
    1/√d_model) to the size of the position vectors.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.vocabulary, spec.d_model))
        self.positions = Positions(spec)
        self.scale = math.sqrt(spec.d_model)
        self.dropout = spec.dropout

    def forward(
        self, ids: Int[Tensor, "B L"], start: int = 0, trace: Trace | None = None
    ) -> Float[Tensor, "B L D"]:
        """Vectors for `ids`, whose first one stands at position `start`."""
        rows = F.embedding(ids, self.weight)
        embedded = rows * self.scale
        position = self.positions(ids.shape[1], start)
        x = embedded + position
        if trace:
            trace.record("rows", rows)
            trace.record("embedding", embedded)
            trace.record("position", position)
            trace.record("sum", x)
        return dropout(x, self.dropout, self.training)
