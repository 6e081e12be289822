"""A stack of N equal layers, and the last norm that pre-norm models need (section 3.1).

What all layers share is made here once: the rotation of rotary positions, the relative bias.
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.add_and_norm import make_norm
from regard.model.cache import Cache
from regard.model.layer import Layer
from regard.model.masks import Mask
from regard.model.relative import RelativeBias
from regard.model.rotary import Rotary
from regard.model.spec import Spec
from regard.model.trace import Trace, within


class Stack(nn.Module):
    """The encoder, or the decoder (causal; cross=False when it stands alone)."""

    def __init__(self, spec: Spec, layers: int, cross: bool, causal: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(spec, cross) for _ in range(layers))
        self.rotary = Rotary(spec) if spec.positions == "rotary" else None
        self.relative = (
            RelativeBias(spec, both_ways=not causal) if spec.positions == "relative" else None
        )
        # Pre-norm layers add to x without normalising the sum; it is done once, here.
        self.norm = make_norm(spec) if spec.norm_order == "pre" else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        positions: Int[Tensor, "#B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        length, past = x.shape[1], cache.length if cache else 0
        rotation = None
        if self.rotary is not None:
            counted = torch.arange(past, past + length, device=x.device)[None]
            rotation = self.rotary(counted if positions is None else positions)
        if self.relative is not None:
            mask = replace(mask, bias=self.relative(length, past + length))
        for number, layer in enumerate(self.layers):
            layer_cache = cache.layers[number] if cache else None
            x = layer(x, mask, memory, memory_mask, layer_cache, within(trace, number), rotation)
        normed: Tensor = self.norm(x)
        if trace:
            trace.record("output", normed)
        return normed
