"""Text → the labels of a classifier head, with probabilities."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.answer.prompt import fitting, one_text, row_of
from regard.bundle.labels import Label, Labels
from regard.data.batch import lay_out
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.text.published import PublishedTokenizer

TOKEN_BUDGET = 4096  # places of a batch, padding too


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


@torch.inference_mode()
def class_probabilities(
    model: Transformer,
    tokenizer: PublishedTokenizer,
    labels: Labels,
    texts: Sequence[tuple[str, str | None]],
    limit: int | None,
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[Float[np.ndarray, "n C"], int]:
    """The probability of each label for each text or pair, and how many texts were cut to `limit`.

    Texts of similar lengths go together, since padding costs.
    """
    if model.spec.head != "classes":
        raise MisuseError("classify: this model labels each token; ask for each text by itself")
    encoded = [tokenizer.encode(text, pair, limit) for text, pair in texts]
    found = np.zeros((len(texts), model.spec.classes), dtype=np.float64)
    device = next(model.parameters()).device
    order = sorted(range(len(texts)), key=lambda n: -len(encoded[n].ids))
    while order:
        size = max(1, TOKEN_BUDGET // max(1, len(encoded[order[0]].ids)))
        chosen, order = order[:size], order[size:]
        rows = [encoded[n] for n in chosen]
        first = [len(row.ids) - sum(map(bool, row.segments)) for row in rows]
        pad = tokenizer.roles.get("pad", 0)
        source, real, segments = (t.to(device) for t in lay_out([r.ids for r in rows], first, pad))
        memory = model.encode(source, real, segments=segments if model.spec.segments else None)
        logits: Tensor = model.answer(memory)
        found[chosen] = labels.probabilities(logits.double()).cpu().numpy()
        advance(len(chosen))
    cut = sum(len(row.ids) == limit for row in encoded)
    return found, cut
