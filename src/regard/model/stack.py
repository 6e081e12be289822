"""A stack of N equal layers, and the last norm that pre-norm models need (section 3.1)."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.add_and_norm import make_norm
from regard.model.cache import Cache
from regard.model.layer import Layer
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace, within


class Stack(nn.Module):
    """The encoder (cross=False) or the decoder (cross=True; False when it stands alone)."""

    def __init__(self, spec: Spec, layers: int, cross: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(spec, cross) for _ in range(layers))
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
    ) -> Float[Tensor, "B L D"]:
        for number, layer in enumerate(self.layers):
            layer_cache = cache.layers[number] if cache else None
            x = layer(x, mask, memory, memory_mask, layer_cache, within(trace, number))
        normed: Tensor = self.norm(x)
        if trace:
            trace.record("output", normed)
        return normed
