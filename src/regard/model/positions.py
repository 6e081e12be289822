"""Positions: attention itself does not know order, so a vector per position is added (section 3.5).

    PE(pos, 2i)   = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i+1) = cos(pos / 10000^(2i / d_model))

Sinusoids are fixed and defined for every position; the alternative of Table 3 (E) is a learned
table of `max_length` rows. `halves` has the same sinusoids, all sines first, then all cosines. With
rotary and relative positions nothing is added: attention itself is told (rotary.py, relative.py).
"""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import MisuseError
from regard.model.spec import Spec

PATCH_BASE = 100  # the longest wave, over 2π: a picture has few patches a side


def sinusoids(
    length: int, d_model: int, start: int = 0, base: float | int = 10_000
) -> Float[Tensor, "L D"]:
    """PE for the positions start … start + length - 1, computed in double precision."""
    # On the CPU, also of a model without memory: there arange imports half of torch, for a second.
    counted = partial(torch.arange, dtype=torch.float64, device="cpu")
    position = counted(start, start + length)[:, None]
    wavelength = base ** (counted(0, d_model, 2) / d_model)
    angle = position / wavelength
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def waves_of_patches(side: int, d_model: int) -> Float[Tensor, "P D"]:
    """Sinusoids in two dimensions, for side × side patches row by row: the first half of a vector
    tells the row, the second the column. Where the patches' learned positions may begin."""
    waves = sinusoids(side, d_model // 2, base=PATCH_BASE)
    rows, columns = waves[:, None].expand(-1, side, -1), waves[None].expand(side, -1, -1)
    return torch.cat((rows, columns), dim=2).flatten(0, 1)


def halves(pairs: Float[Tensor, "L D"]) -> Float[Tensor, "L D"]:
    """Sinusoids with all sines before all cosines."""
    return torch.cat((pairs[:, 0::2], pairs[:, 1::2]), dim=1)


class Positions(nn.Module):
    """The position vectors of one side: sinusoidal (no weights) or a learned table."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.d_model, self.halves = spec.d_model, spec.positions == "halves"
        self.table = (
            nn.Parameter(torch.empty(spec.max_length, spec.d_model))
            if spec.positions == "learned"
            else None
        )
        # Rows computed once for the usual lengths; not weights, so never saved.
        usual = self._waves(min(spec.max_length, 256), 0) if self.table is None else None
        self.register_buffer("usual", usual, persistent=False)
        self.usual: Tensor | None

    def _waves(self, length: int, start: int) -> Float[Tensor, "L D"]:
        pairs = sinusoids(length, self.d_model, start)
        return halves(pairs) if self.halves else pairs

    def at(self, positions: Int[Tensor, "B L"]) -> Float[Tensor, "B L D"]:
        """The vectors of positions that are given one by one (padding before a text)."""
        vectors: Tensor = self(int(positions.max()) + 1)[positions]
        return vectors

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
        return self._waves(length, start).to(self.usual)
