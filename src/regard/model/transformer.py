"""The Transformer: embedding, encoder stack, decoder stack, output, and how they are tied.

    source ids ─ embedding ─ encoder ─ memory ─┐
    target ids ─ embedding ─ decoder ──────────┴─ x ─ output ─ logits

With `encoder_layers = 0` it is decoder-only, with `decoder_layers = 0` encoder-only.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.model.cache import Cache
from regard.model.embedding import Embedding
from regard.model.init import initialise
from regard.model.masks import Mask
from regard.model.output import Output
from regard.model.spec import Spec
from regard.model.stack import Stack
from regard.model.trace import Trace, within


class Transformer(nn.Module):
    """Every member of the family; which one it is, the spec says."""

    def __init__(self, spec: Spec, seed: int = 1) -> None:
        super().__init__()
        self.spec = spec
        both = spec.encoder_layers > 0 and spec.decoder_layers > 0
        encoder = Stack(spec, spec.encoder_layers, cross=False) if spec.encoder_layers else None
        decoder = Stack(spec, spec.decoder_layers, cross=both) if spec.decoder_layers else None
        self.source_embedding = Embedding(spec) if encoder else None
        self.target_embedding = Embedding(spec) if decoder else None
        self.encoder, self.decoder, self.output = encoder, decoder, Output(spec)
        initialise(self, seed)
        self._tie(spec.tie)

    def _tie(self, tie: str) -> None:
        """Let embeddings and output be one matrix (section 3.4)."""
        last = self.target_embedding or self.source_embedding
        assert last is not None
        if tie in ("all", "target"):
            self.output.weight = last.weight
        if tie == "all" and self.source_embedding is not None:
            self.source_embedding.weight = last.weight

    def encode(
        self,
        source: Int[Tensor, "B S"],
        real: Bool[Tensor, "B S"] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B S D"]:
        """The memory: one vector for each source token, seen in its context."""
        assert self.source_embedding is not None and self.encoder is not None
        x = self.source_embedding(source, 0, within(trace, "source"))
        memory: Tensor = self.encoder(x, Mask(real), trace=within(trace, "encoder"))
        return memory

    def decode(
        self,
        target: Int[Tensor, "B L"],
        memory: Float[Tensor, "B S D"] | None = None,
        memory_real: Bool[Tensor, "B S"] | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L D"]:
        """The decoder's vectors for `target`, which continues what the cache holds.

        The look-ahead mask also hides the padding at a row's end from all its real positions.
        """
        assert self.target_embedding is not None and self.decoder is not None
        x = self.target_embedding(target, cache.length if cache else 0, within(trace, "target"))
        seen = Mask(memory_real)
        hidden: Tensor = self.decoder(
            x, Mask(causal=True), memory, seen, cache, within(trace, "decoder")
        )
        return hidden

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B L"],
        source_real: Bool[Tensor, "B S"] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L V"]:
        """Logits of the next token at every target position at once (teacher forcing)."""
        memory = self.encode(source, source_real, trace)
        logits: Tensor = self.output(self.decode(target, memory, source_real, trace=trace))
        if trace:
            trace.record("logits", logits)
            trace.record("probabilities", logits.softmax(dim=-1))
        return logits

    def new_cache(self) -> Cache:
        """An empty cache for decoding with this model."""
        return Cache(self.spec.decoder_layers)
