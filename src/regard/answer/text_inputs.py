"""Texts on their way into a model: found to fit, as one row of ids, or many by their lengths.

Texts of similar lengths go through an encoder together, since padding costs.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import lay_out
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.text.encoded import Encoded
from regard.text.published import PublishedTokenizer

TOKEN_BUDGET = 4096  # places of a batch, padding too


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


def numbers_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Numbers of texts, longest first, so that no batch has more places than the budget.

    A text longer than the budget is alone; one without a single token is in none.

    >>> list(numbers_by_length([3, 9, 0, 4, 4], 8))
    [[1], [3, 4], [0]]
    """
    order = sorted((n for n, length in enumerate(lengths) if length), key=lambda n: -lengths[n])
    while order:
        size = max(1, budget // lengths[order[0]])
        yield order[:size]
        order = order[size:]


@torch.inference_mode()
def logits_by_length(
    model: Transformer, tokenizer: PublishedTokenizer, texts: Sequence[Encoded]
) -> Iterator[tuple[list[int], Tensor]]:
    """The numbers of the texts of a batch, and what the head answers to each of them."""
    device, pad = next(model.parameters()).device, tokenizer.roles.get("pad", 0)
    for numbers in numbers_by_length([len(text.ids) for text in texts], TOKEN_BUDGET):
        rows = [texts[n] for n in numbers]
        first = [len(row.ids) - sum(map(bool, row.segments)) for row in rows]
        source, real, segments = (t.to(device) for t in lay_out([r.ids for r in rows], first, pad))
        yield numbers, model.answer(model.encode(source, real, segments=segments))
