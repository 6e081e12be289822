"""Positions: attention itself does not know order, so a vector per position is added (section 3.5).

    PE(pos, 2i)   = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i+1) = cos(pos / 10000^(2i / d_model))

Sinusoids are fixed and defined for every position; the alternative of Table 3 (E) is a learned
table of `max_length` rows.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import MisuseError
from regard.model.spec import Spec


def sinusoids(
    length: int, d_model: int, start: int = 0, base: float | int = 10_000
) -> Float[Tensor, "L D"]:
    """PE for the positions start … start + length - 1, computed in double precision."""
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]
    wavelength = base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position / wavelength
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


class Positions(nn.Module):
    """The position vectors of one side: sinusoidal (no weights) or a learned table."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.d_model = spec.d_model
        self.table = (
            nn.Parameter(torch.empty(spec.max_length, spec.d_model))
            if spec.positions == "learned"
            else None
        )
        # Rows computed once for the usual lengths; not weights, so never saved.
        usual = sinusoids(min(spec.max_length, 256), spec.d_model) if self.table is None else None
        self.register_buffer("usual", usual, persistent=False)
        self.usual: Tensor | None

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "L D"]:
        end = start + length
        if self.table is not None:
            if end > self.table.shape[0]:
                raise MisuseError(
                    f"positions: the learned table holds {self.table.shape[0]} positions, the text "
                    f"needs {end}; shorten it, or train with a larger model.max_length"
                )
            return self.table[start:end]
        assert self.usual is not None
        if end <= self.usual.shape[0]:
            return self.usual[start:end]
        return sinusoids(length, self.d_model, start).to(self.usual)
