"""A decoding session: one batch of sources, encoded once, then extended one token at a time.

The session holds the cache; a search asks it for log-probabilities and tells it which rows to keep.
A decoder-only model has no source: its session begins with a prompt.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.model.transformer import Transformer


class Session:
    """log p(next token | source, output so far) for each row."""

    def __init__(
        self,
        model: Transformer,
        source: Int[Tensor, "B S"] | None = None,
        real: Bool[Tensor, "B S"] | None = None,
    ) -> None:
        self._model = model
        self._memory = None if source is None else model.encode(source, real)
        self._real = real
        self._cache = model.new_cache()

    def extend(self, tokens: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
        """Append one token to each row; the log-probabilities of what comes next."""
        return self.begin(tokens[:, None])

    def begin(self, prompt: Int[Tensor, "B L"]) -> Float[Tensor, "B V"]:
        """Append whole prompts of one length; the log-probabilities of what comes next."""
        x = self._model.decode(prompt, self._memory, self._real, self._cache)
        logits = self._model.token_logits(x[:, -1])
        at_least_single = torch.promote_types(logits.dtype, torch.float32)
        return torch.log_softmax(logits, dim=-1, dtype=at_least_single)

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Go on with these rows, in this order; a row may be kept more than once."""
        if self._memory is not None:
            self._memory = self._memory.index_select(0, rows)
        if self._real is not None:
            self._real = self._real.index_select(0, rows)
        self._cache.select(rows)

    def reorder(self, rows: Int[Tensor, " B"]) -> None:
        """Like `keep`, where every row comes from a row of the same sentence: the memory stays."""
        self._cache.select(rows, memory=False)
