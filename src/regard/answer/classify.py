"""Text → the labels of a classifier head, with probabilities."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from regard.answer.answers import Answers
from regard.answer.labels import Label, best_labels, probabilities, token_labels
from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import fitting, logits_by_length, which_text
from regard.errors import MisuseError
from regard.printable import Advance, unheard


def classify_texts(
    model: LoadedModel,
    texts: Sequence[str],
    pairs: Sequence[str | None],
    top: int | None = None,
    cut: bool = False,
) -> list[Answers[Label]]:
    """The labels of each text (or pair), likeliest first.

    A head that labels each token gives the likeliest label of each, in the order of the text;
    the special tokens around it are left out. What is too long is an error, unless it may be cut.
    """
    tokenizer, labels = model.tokenizer_for("classify"), model.bundle.labels
    if top is not None and top < 1:
        raise MisuseError("classify: top", got=top, expected="1 or more")
    limit = model.bundle.longest_text if cut else None
    encoded = [
        fitting(
            tokenizer.encode(text, pair, limit),
            model.transformer,
            "classify",
            which_text(number, len(texts)),
        )
        for number, (text, pair) in enumerate(zip(texts, pairs, strict=True), start=1)
    ]
    special = set(tokenizer.codec.special.values())
    answers: list[Answers[Label]] = [Answers() for _ in texts]
    for numbers, logits in logits_by_length(model.transformer, tokenizer, encoded):
        for n, row in zip(numbers, logits, strict=True):
            if model.spec.head == "classes":
                answers[n] = Answers(best_labels(labels, row, top))
                continue
            real = [place for place, i in enumerate(encoded[n].ids) if i not in special]
            pieces = tokenizer.pieces([encoded[n].ids[place] for place in real])
            answers[n] = Answers(token_labels(labels, row[real], pieces))
    return answers


@torch.inference_mode()
def class_probabilities(
    model: LoadedModel,
    texts: Sequence[str | tuple[str, str | None]],
    advance: Advance = unheard,
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
