"""One layer of the encoder or of the decoder (section 3.1, Figure 1).

encoder layer                       decoder layer
  self-attention   add & norm         masked self-attention   add & norm
                                      cross-attention         add & norm   (keys, values: memory)
  feed-forward     add & norm         feed-forward            add & norm
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.add_and_norm import AddAndNorm
from regard.model.attention import MultiHeadAttention
from regard.model.cache import LayerCache
from regard.model.feed_forward import FeedForward
from regard.model.masks import Mask
from regard.model.rotary import Rotation
from regard.model.spec import Spec
from regard.model.trace import Trace, within


class Layer(nn.Module):
    """Self-attention, cross-attention if there is a memory to look at, feed-forward."""

    def __init__(self, spec: Spec, cross: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(spec)
        self.attention_norm = AddAndNorm(spec)
        self.cross = MultiHeadAttention(spec) if cross else None
        self.cross_norm = AddAndNorm(spec) if cross else None
        self.feed_forward = FeedForward(spec)
        self.feed_forward_norm = AddAndNorm(spec)

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache | None = None,
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B L D"]:
        own, other, ffn = (within(trace, part) for part in ("self", "cross", "ffn"))
        past, remembered = (cache.past, cache.memory) if cache else (None, None)

        x = self.attention_norm(
            x, lambda y: self.attention(y, mask, None, past, own, rotation), own
        )
        if self.cross is not None and self.cross_norm is not None:
            cross, seen = self.cross, memory_mask or Mask()
            assert memory is not None, "a layer with cross-attention needs a memory"
            x = self.cross_norm(x, lambda y: cross(y, seen, memory, remembered, other), other)
        x = self.feed_forward_norm(x, lambda y: self.feed_forward(y, ffn), ffn)
        return x
