"""Ids of a published tokenizer as rows of tensors, and the check that a text fits its model."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.text.encoded import Encoded


def row_of(model: Transformer, ids: Sequence[int]) -> Int[Tensor, "1 L"]:
    """One row, on the model's device."""
    device = next(model.parameters()).device
    return torch.tensor([list(ids)], dtype=torch.long, device=device)


def one_text(text: object, task: str) -> str:
    """A single text, as the tasks take it that answer about one."""
    if not isinstance(text, str):
        advice = "ask for each by itself"
        raise MisuseError(f"{task}: text", got=type(text), expected="one text", advice=advice)
    return text


def fitting(encoded: Encoded, model: Transformer, task: str, which: str = "the text") -> Encoded:
    """The same ids, if there are any and the model has positions for all of them."""
    if not encoded.ids:
        raise MisuseError(task, f"{which} has no tokens", advice="give a text")
    most = model.spec.position_limit
    if most is not None and len(encoded.ids) > most:
        problem = f"{which} has {len(encoded.ids)} tokens, this model reads at most {most}"
        raise MisuseError(task, problem, advice="shorten it")
    return encoded


def which_text(number: int, count: int) -> str:
    """How an error calls one of several texts."""
    return "the text" if count == 1 else f"text {number:,} of {count:,}"
