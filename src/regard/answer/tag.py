"""Text → a tag for each of its words, with probabilities.

A word that is cut into pieces is asked for at the first of them, as in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.answer.answers import Answers
from regard.answer.labels import probabilities
from regard.answer.loaded import LoadedModel
from regard.answer.text_inputs import logits_by_length, which_text
from regard.errors import MisuseError
from regard.printable import Advance, unheard
from regard.text.words import split_words


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
            raise MisuseError("tag", f"got the word {word!r}", expected="words without spaces")
    return list(text)


def tag_texts(
    model: LoadedModel, texts: Sequence[str | Sequence[str]], cut: bool = False
) -> list[Answers[Tag]]:
    """All tags of each text, or an error: a part of them would look like the whole.

    With `cut` they are the tags of the words that the model reads.
    """
    rows = tag_rows(model, texts)
    for number, (text, tags) in enumerate(zip(texts, rows, strict=True), start=1):
        if not tags:
            raise MisuseError(f"tag: {which_text(number, len(texts))} has no words; give a text")
        if None in tags and not cut:
            raise _untagged(model, words_of(text), tags, which_text(number, len(texts)))
    return [Answers(tag for tag in tags if tag is not None) for tags in rows]


def _untagged(
    model: LoadedModel, words: list[str], tags: Sequence[Tag | None], which: str
) -> MisuseError:
    """Why a word has no tag."""
    count = len(model.tokenizer_for("tag").encode_words(words)[0].ids)
    limit = model.bundle.longest_text
    if limit is not None and count > limit:
        problem = f"{which} has {count} tokens, this model reads at most {limit}"
        return MisuseError("tag", problem, advice="divide it")
    problem = f"the tokenizer leaves {words[tags.index(None)]!r} out"
    return MisuseError("tag", problem, advice="take it out of the text")


def tag_rows(
    model: LoadedModel,
    texts: Sequence[str | Sequence[str]],
    advance: Advance = unheard,
) -> list[list[Tag | None]]:
    """The tag of each word; None where the model does not see it: it was cut, or has no piece."""
    tokenizer, labels = model.tokenizer_for("tag"), model.bundle.labels
    rows = [words_of(text) for text in texts]
    encoded = [tokenizer.encode_words(words, model.bundle.longest_text) for words in rows]
    tags: list[list[Tag | None]] = [[] for _ in rows]
    ids = [row for row, _ in encoded]
    for numbers, logits in logits_by_length(model.transformer, tokenizer, ids):
        best = probabilities(labels, logits.double()).max(dim=-1)
        answers = zip(numbers, best.values.tolist(), best.indices.tolist(), strict=True)
        for n, values, classes in answers:
            tags[n] = [
                None if place is None else Tag(word, labels.names[classes[place]], values[place])
                for word, place in zip(rows[n], encoded[n][1], strict=True)
            ]
        advance(len(numbers))
    return tags
