"""Many texts through an encoder: those of similar lengths go together, since padding costs."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from regard.data.batch import lay_out
from regard.model.transformer import Transformer
from regard.text.encoded import Encoded
from regard.text.published import PublishedTokenizer

TOKEN_BUDGET = 4096  # places of a batch, padding too


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
