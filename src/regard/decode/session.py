"""A decoding session: a prompt of a decoder-only model, extended one token at a time.

The session holds the cache; whoever draws tokens asks it for log-probabilities.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.transformer import Transformer


class Session:
    """log p(next token | text so far) for each row."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._cache = model.new_cache()

    def extend(self, tokens: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
        """Append one token to each row; the log-probabilities of what comes next."""
        return self.begin(tokens[:, None])

    def begin(self, prompt: Int[Tensor, "B L"]) -> Float[Tensor, "B V"]:
        """Append whole prompts of one length; the log-probabilities of what comes next."""
        x = self._model.decode(prompt, cache=self._cache)
        logits = self._model.token_logits(x[:, -1])
        at_least_single = torch.promote_types(logits.dtype, torch.float32)
        return torch.log_softmax(logits, dim=-1, dtype=at_least_single)
