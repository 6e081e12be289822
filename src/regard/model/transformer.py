"""The Transformer: embedding, encoder stack, decoder stack, output, and how they are tied.

    source ids ─ embedding ─ encoder ─ memory ─┐
    target ids ─ embedding ─ decoder ──────────┴─ x ─ output ─ logits

It learns and explains; translations are computed by an engine (decode/engine.py) on its weights.
With `encoder_layers = 0` it is decoder-only, with `decoder_layers = 0` encoder-only; an image comes
in through patches instead of an embedding.
"""

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from regard.errors import MisuseError
from regard.model.cache import Cache
from regard.model.embedding import Embedding
from regard.model.init import initialise
from regard.model.masks import Mask
from regard.model.output import Classifier, Output, Pooler
from regard.model.patches import Patches
from regard.model.spec import Spec
from regard.model.stack import Stack
from regard.model.trace import Trace, within


class Transformer(nn.Module):
    """Every member of the family; which one it is, the spec says."""

    def __init__(self, spec: Spec, seed: int | None = 1) -> None:
        super().__init__()
        self.spec = spec
        both = spec.encoder_layers > 0 and spec.decoder_layers > 0
        n, m = spec.encoder_layers, spec.decoder_layers
        self.source_embedding = Embedding(spec) if n and not spec.image_size else None
        self.target_embedding = Embedding(spec) if m else None
        self.patches = Patches(spec) if spec.image_size else None
        self.encoder = Stack(spec, n, cross=False, causal=False) if n else None
        self.decoder = Stack(spec, m, cross=both, causal=True) if m else None
        self.output = Output(spec) if spec.head == "tokens" else None
        self.pooler = Pooler(spec) if spec.pool != "none" else None
        self.classifier = Classifier(spec) if spec.head in ("classes", "labels", "spans") else None
        if seed is not None:  # None: the weights come from a file
            initialise(self, seed, self._also_output(spec.tie))
        self._tie(spec.tie)

    def _also_output(self, tie: str) -> tuple[Embedding | None, ...]:
        """The embeddings whose matrix `_tie` makes the output's too."""
        if self.output is None:
            return ()
        last = self.target_embedding or self.source_embedding
        tied = {"all": (self.source_embedding, self.target_embedding), "target": (last,)}
        return tied.get(tie, ())

    def _tie(self, tie: str) -> None:
        """Let embeddings and output be one matrix (section 3.4)."""
        last = self.target_embedding or self.source_embedding
        if last is None:
            return
        if tie in ("all", "target") and self.output is not None:
            self.output.weight = last.weight
        if tie in ("all", "embeddings") and self.source_embedding is not None:
            self.source_embedding.weight = last.weight

    def encode(
        self,
        source: Int[Tensor, "B S"],
        real: Bool[Tensor, "B S"] | None = None,
        trace: Trace | None = None,
        segments: Int[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B S D"]:
        """The memory: one vector for each source token, seen in its context."""
        assert self.source_embedding is not None and self.encoder is not None
        x = self.source_embedding(source, 0, within(trace, "source"), segments)
        memory: Tensor = self.encoder(x, Mask(real), trace=within(trace, "encoder"))
        return memory

    def see(
        self, pixels: Float[Tensor, "B C height width"], trace: Trace | None = None
    ) -> Float[Tensor, "B S D"]:
        """The memory of an image: its class token, then one vector for each patch."""
        assert self.patches is not None and self.encoder is not None
        x = self.patches(pixels, within(trace, "source"))
        memory: Tensor = self.encoder(x, Mask(), trace=within(trace, "encoder"))
        return memory

    def decode(
        self,
        target: Int[Tensor, "B L"],
        memory: Float[Tensor, "B S D"] | None = None,
        memory_real: Bool[Tensor, "B S"] | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        real: Bool[Tensor, "B T"] | None = None,
        positions: Int[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """The decoder's vectors for `target`, which continues what the cache holds.

        The look-ahead mask also hides the padding at a row's end from all its real positions;
        padding *before* a text needs `real` (of all T tokens, the cached ones too) and `positions`.
        """
        assert self.target_embedding is not None and self.decoder is not None
        start = cache.length if cache else 0
        x = self.target_embedding(target, start, within(trace, "target"), positions=positions)
        mask, seen = Mask(real, causal=True), Mask(memory_real)
        hidden: Tensor = self.decoder(
            x, mask, memory, seen, cache, within(trace, "decoder"), positions
        )
        return hidden

    def decode_packed(
        self,
        rows: Int[Tensor, "B L"],
        documents: Int[Tensor, "B L"],
        positions: Int[Tensor, "B L"],
    ) -> Float[Tensor, "B L D"]:
        """The same for rows that several texts share: `documents` tells whose a place is, and
        `positions` where in it; no text sees another."""
        assert self.target_embedding is not None and self.decoder is not None
        x = self.target_embedding(rows, positions=positions)
        mask = Mask(causal=True, documents=documents)
        hidden: Tensor = self.decoder(x, mask, positions=positions)
        return hidden

    def read(
        self,
        source: Shaped[Tensor, "B *_"],
        real: Bool[Tensor, "B S"] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B S D"]:
        """The memory of a source, whichever this model has: ids, or the pixels of an image."""
        return self.encode(source, real, trace) if self.patches is None else self.see(source, trace)

    def forward(
        self,
        source: Shaped[Tensor, "B *_"],
        target: Int[Tensor, "B L"],
        source_real: Bool[Tensor, "B S"] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L V"]:
        """Logits of the next token at every target position at once (teacher forcing).

        For scores and traces; training takes `read` and `decode` (training/losses.py).
        """
        memory = self.read(source, source_real, trace)
        return self.token_logits(self.decode(target, memory, source_real, trace=trace), trace)

    def token_logits(
        self, x: Float[Tensor, "*L D"], trace: Trace | None = None
    ) -> Float[Tensor, "*L V"]:
        """The logits over the vocabulary for the last vectors."""
        if self.output is None:
            raise MisuseError(f"this model has no output over words, its head is {self.spec.head}")
        logits: Tensor = self.output(x)
        if trace:
            trace.record("prepared", self.output.prepared(x))
            _record_answer(trace, logits)
        return logits

    def answer(
        self, x: Float[Tensor, "B L D"], trace: Trace | None = None
    ) -> Float[Tensor, "B *L C"]:
        """What the model's head makes of the encoder's vectors."""
        if self.spec.head == "tokens":
            return self.token_logits(x, trace)
        if self.classifier is None:
            raise MisuseError("this model has no head: it gives vectors, not logits")
        if self.spec.head == "classes":
            x = self.pooler(x) if self.pooler is not None else x[:, 0]
        logits: Tensor = self.classifier(x)
        if trace:
            trace.record("pooled", x)
            _record_answer(trace, logits)
        return logits

    def new_cache(self) -> Cache:
        """An empty cache for decoding with this model."""
        return Cache(self.spec.decoder_layers)


def _record_answer(trace: Trace, logits: Float[Tensor, "*L C"]) -> None:
    trace.record("logits", logits)
    trace.record("probabilities", logits.softmax(dim=-1))
