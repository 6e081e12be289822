"""Pseudo-perplexity (Salazar et al. 2020): how surprised an encoder is by a text.

    PPPL = exp(-1/N · Σ_i log p(w_i | the rest of its text))

Each of the N tokens is masked by itself, all others are seen.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch

from regard.data.batch import IGNORED, Batch, text_batch
from regard.model.transformer import Transformer
from regard.training.losses import Filling

TokenIds = Sequence[int]


@torch.inference_mode()
def pseudo_perplexity(
    model: Transformer,
    rows: Sequence[TokenIds],
    first: Sequence[int],
    is_scored: Callable[[int], bool],
    mask: int,
    pad: int,
    token_budget: int = 4096,
) -> float:
    """Of all tokens of the rows for which `is_scored` holds (special ones are not)."""
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for batch in one_masked(rows, first, is_scored, mask, pad, token_budget):
        total += float(Filling()(model, batch.to(device)).plain)
        count += batch.targets
    return math.exp(min(700.0, total / count)) if count else math.nan


def one_masked(
    rows: Sequence[TokenIds],
    first: Sequence[int],
    is_scored: Callable[[int], bool],
    mask: int,
    pad: int,
    token_budget: int,
) -> Iterator[Batch]:
    """Every row as often as it has tokens to ask for, one of them masked."""
    for row, begin in zip(rows, first, strict=True):
        places = [place for place, token in enumerate(row) if is_scored(token)]
        size = max(1, token_budget // len(row)) if row else 1
        for start in range(0, len(places), size):
            chosen = places[start : start + size]
            batch = text_batch([row] * len(chosen), [begin] * len(chosen), pad)
            text, labels = batch["text"], torch.full_like(batch["text"], IGNORED)
            for number, place in enumerate(chosen):
                labels[number, place] = text[number, place]
                text[number, place] = mask
            yield batch.having(text_labels=labels)
