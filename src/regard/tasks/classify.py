"""Text → the labels of a classifier head, with probabilities."""

import torch

from regard.model.transformer import Transformer
from regard.tasks.labels import Label, Labels
from regard.tasks.prompt import fitting, one_text, row_of
from regard.text.published import PublishedTokenizer


@torch.inference_mode()
def classify_text(
    model: Transformer,
    tokenizer: PublishedTokenizer,
    labels: Labels,
    text: str,
    pair: str | None = None,
    top: int | None = None,
) -> list[Label]:
    """The labels of a text (or of a pair), likeliest first.

    A head that labels each token gives the likeliest label of each, in the order of the text;
    the special tokens around it are left out.
    """
    text = one_text(text, "classify")
    pair = None if pair is None else one_text(pair, "classify")
    encoded = fitting(tokenizer.encode(text, pair), model, "classify")
    ids, segments = row_of(model, encoded.ids), row_of(model, encoded.segments)
    logits = model.answer(model.encode(ids, segments=segments if model.spec.segments else None))[0]
    if model.spec.head == "classes":
        return labels.best(logits, top)
    special = set(tokenizer.codec.special.values())
    real = [n for n, i in enumerate(encoded.ids) if i not in special]
    return labels.of_tokens(logits[real], tokenizer.pieces([encoded.ids[n] for n in real]))
