"""How well a decoder foresees batches, without learning from them."""

from collections.abc import Iterable

import torch

from regard.data.batch import IGNORED, Batch
from regard.model.transformer import Transformer
from regard.training.label_smoothing import smoothed_cross_entropy
from regard.training.losses import read_ahead


@torch.inference_mode()
def mean_loss(model: Transformer, batches: Iterable[Batch]) -> tuple[float, int]:
    """-log p of every token that is asked for, on average; and how many there are."""
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for one in batches:
        batch = one.to(device)
        has_label = batch["text_labels"] != IGNORED
        logits = model.token_logits(read_ahead(model, batch)[has_label])
        total += float(smoothed_cross_entropy(logits, batch["text_labels"][has_label], 0.0).plain)
        count += int(has_label.sum())
    return total / max(1, count), count
