"""Ids of a published tokenizer as rows of tensors, and the check that a text fits its model."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.text.codec import Encoded
from regard.text.published import PublishedTokenizer


def row_of(model: Transformer, ids: Sequence[int]) -> Int[Tensor, "1 L"]:
    """One row, on the model's device."""
    device = next(model.parameters()).device
    return torch.tensor([list(ids)], dtype=torch.long, device=device)


def text_of(tokenizer: PublishedTokenizer, ids: Sequence[int]) -> str:
    """The text of ids that a model made: rows of its table beyond the vocabulary have no text."""
    return tokenizer.decode([i for i in ids if i < tokenizer.size])


def fitting(encoded: Encoded, model: Transformer, task: str) -> Encoded:
    """The same ids, if the model has positions for all of them."""
    most = model.spec.position_limit
    if most is not None and len(encoded.ids) > most:
        raise MisuseError(
            f"{task}: the text has {len(encoded.ids)} tokens, this model reads at most {most}; "
            "shorten it"
        )
    return encoded
