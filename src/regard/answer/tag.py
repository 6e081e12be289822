"""Text → a tag for each of its words, with probabilities.

A word that is cut into pieces is asked for at the first of them, as in training.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.bundle.labels import Labels
from regard.data.batch import lay_out
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.text.published import PublishedTokenizer
from regard.text.words import split_words

TOKEN_BUDGET = 4096  # places of a batch, padding too


@dataclass(frozen=True)
class Tag:
    """A word and its likeliest tag."""

    word: str
    tag: str
    probability: float


def words_of(text: str | Sequence[str]) -> list[str]:
    """Words as they are given, or those of a text."""
    if isinstance(text, str):
        return split_words(text)
    for word in text:
        if len(word.split()) != 1:
            raise MisuseError(f"tag: got the word {word!r}, expected words without spaces")
    return list(text)


def tag_one(
    model: Transformer,
    tokenizer: PublishedTokenizer,
    labels: Labels,
    text: str | Sequence[str],
    limit: int | None,
) -> list[Tag]:
    """All tags of a text, or an error: a part of them would look like the whole."""
    words = words_of(text)
    if not words:
        raise MisuseError("tag: the text has no words; give a text")
    found = tag_rows(model, tokenizer, labels, [words], limit)[0]
    for word, tag in zip(words, found, strict=True):
        if tag is None:
            count = len(tokenizer.encode_words(words)[0].ids)
            if limit is not None and count > limit:
                raise MisuseError(
                    f"tag: the text has {count} tokens, this model reads at most {limit}; divide it"
                )
            raise MisuseError(f"tag: the tokenizer leaves {word!r} out; take it out of the text")
    return [tag for tag in found if tag is not None]


@torch.inference_mode()
def tag_rows(
    model: Transformer,
    tokenizer: PublishedTokenizer,
    labels: Labels,
    rows: Sequence[Sequence[str]],
    limit: int | None,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[Tag | None]]:
    """The tag of each word; None where the model does not see it: it was cut, or has no piece."""
    encoded = [tokenizer.encode_words(words, limit) for words in rows]
    found: list[list[Tag | None]] = [[] for _ in rows]
    device = next(model.parameters()).device
    pad = tokenizer.roles.get("pad", 0)
    order = sorted(range(len(rows)), key=lambda n: -len(encoded[n][0].ids))
    while order:  # texts of similar lengths go together, since padding costs
        size = max(1, TOKEN_BUDGET // max(1, len(encoded[order[0]][0].ids)))
        chosen, order = order[:size], order[size:]
        ids = [encoded[n][0].ids for n in chosen]
        source, real, segments = (
            t.to(device) for t in lay_out(ids, [len(row) for row in ids], pad)
        )
        memory = model.encode(source, real, segments=segments if model.spec.segments else None)
        logits: Tensor = model.answer(memory)
        best = labels.probabilities(logits.double()).max(dim=-1)
        for n, values, classes in zip(
            chosen, best.values.tolist(), best.indices.tolist(), strict=True
        ):
            found[n] = [
                None if place is None else Tag(word, labels.names[classes[place]], values[place])
                for word, place in zip(rows[n], encoded[n][1], strict=True)
            ]
        advance(len(chosen))
    return found
