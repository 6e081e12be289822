"""Patches: an image as a sequence (the Vision Transformer).

    image (C, size, size) → (size/p)² patches of C·p·p numbers → a linear map → vectors of d_model

A learned vector, the class token, stands before them; its final vector speaks for the image.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import MisuseError
from regard.model.dropout import dropout
from regard.model.spec import Spec
from regard.model.trace import Trace


class Patches(nn.Module):
    """x = dropout([class token, W · patch_1, W · patch_2, …] + learned positions)

    Positions are always learned; where the spec's are sinusoidal, they begin as sinusoids in two
    dimensions (init.py).
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.shape = (spec.channels, spec.image_size, spec.image_size)
        self.patch = spec.patch_size
        self.map = nn.Linear(spec.channels * spec.patch_size**2, spec.d_model)
        self.token = nn.Parameter(torch.empty(spec.d_model))
        self.table = nn.Parameter(torch.empty(spec.patches + 1, spec.d_model))
        self.begins_with_waves = spec.positions == "sinusoidal"
        self.dropout = spec.dropout

    def forward(
        self, pixels: Float[Tensor, "B C height width"], trace: Trace | None = None
    ) -> Float[Tensor, "B S D"]:
        if tuple(pixels.shape[1:]) != self.shape:
            raise MisuseError(
                "pixels",
                f"got an image of shape {tuple(pixels.shape[1:])} (channels, height, width), this "
                f"model looks at {self.shape}",
            )
        patches = F.unfold(pixels, self.patch, stride=self.patch).transpose(1, 2)  # (B, P, C·p·p)
        embedded: Tensor = self.map(patches)
        token = self.token.expand(len(pixels), 1, -1)
        x = torch.cat((token, embedded), dim=1) + self.table
        if trace:
            trace.record("embedding", embedded)
            trace.record("position", self.table)
            trace.record("sum", x)
        return dropout(x, self.dropout, self.training)
