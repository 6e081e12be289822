"""Text → the labels of a classifier head, with probabilities."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float

from regard.answer.encoder_batches import logits_by_length
from regard.answer.labels import Label, best_labels, probabilities, token_labels
from regard.answer.loaded import LoadedModel
from regard.answer.prompt import fitting, one_text, row_of
from regard.errors import MisuseError


@torch.inference_mode()
def classify_text(
    model: LoadedModel, text: str, pair: str | None = None, top: int | None = None
) -> list[Label]:
    """The labels of a text (or of a pair), likeliest first.

    A head that labels each token gives the likeliest label of each, in the order of the text;
    the special tokens around it are left out.
    """
    tokenizer, network = model.tokenizer_for("classify"), model.transformer
    text = one_text(text, "classify")
    pair = None if pair is None else one_text(pair, "classify")
    encoded = fitting(tokenizer.encode(text, pair), network, "classify")
    ids, segments = row_of(network, encoded.ids), row_of(network, encoded.segments)
    memory = network.encode(ids, segments=segments)
    logits = network.answer(memory)[0]
    if model.spec.head == "classes":
        return best_labels(model.bundle.labels, logits, top)
    special = set(tokenizer.codec.special.values())
    real = [n for n, i in enumerate(encoded.ids) if i not in special]
    pieces = tokenizer.pieces([encoded.ids[n] for n in real])
    return token_labels(model.bundle.labels, logits[real], pieces)


@torch.inference_mode()
def class_probabilities(
    model: LoadedModel,
    texts: Sequence[str | tuple[str, str | None]],
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[Float[np.ndarray, "n C"], int]:
    """The probability of each label for each text or pair, and how many texts were cut.

    A text that is too long for the model is cut, as it was in training.
    """
    tokenizer, limit = model.tokenizer_for("classify"), model.bundle.longest_text
    if model.spec.head != "classes":
        raise MisuseError("classify: this model labels each token; ask for each text by itself")
    pairs = [(text, None) if isinstance(text, str) else text for text in texts]
    encoded = [tokenizer.encode(text, pair, limit) for text, pair in pairs]
    table = np.zeros((len(texts), model.spec.classes), dtype=np.float64)
    for numbers, logits in logits_by_length(model.transformer, tokenizer, encoded):
        table[numbers] = probabilities(model.bundle.labels, logits.double()).cpu().numpy()
        advance(len(numbers))
    return table, sum(len(row.ids) == limit for row in encoded)
