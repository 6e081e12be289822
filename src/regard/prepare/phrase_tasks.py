"""Tasks made of the phrasebook, as pairs of texts: what its grammar knows of a sentence.

    translate        The dog sleeps.                          Der Hund schläft.
    translate-back   Der Hund schläft.                        The dog sleeps.
    tag              The dog sleeps.                          determiner noun verb punctuation
    classify         Where does the dog sleep?                question
    ask              What does "sleeps" go with? The dog …    dog

A class is the kind of pattern that a sentence was made by; kinds that are rare are `other`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from regard.data.labelled import Labelled
from regard.data.phrasebook.corpus import AlignedPair, Entry, Word, aligned_pairs, phrasebook

TextPair = tuple[str, str]
LANGUAGES = {"de": "German", "hi": "Hindi"}
RARE, OTHER = 200, "other"  # sentences to train on, below which a kind has no name of its own
SUBJECTS = ("noun", "name", "pronoun")


def phrase_pairs(make: str, language: str, split: str) -> Iterator[TextPair]:
    """The pairs of one task and one split, each once."""
    entries = zip(phrasebook(language), aligned_pairs(language), strict=True)
    pairs = (
        pair
        for entry, words in entries
        if entry.split == split
        for pair in MAKE[make](entry, words, language)
    )
    return iter(dict.fromkeys(pairs))


def both_sides(language: str, split: str) -> Iterator[Labelled]:
    """The sentences of both languages as plain texts, each once."""
    entries = [entry for entry in phrasebook(language) if entry.split == split]
    texts = dict.fromkeys(text for entry in entries for text in (entry.source, entry.target))
    return (Labelled(text, None, (), line) for line, text in enumerate(texts, start=1))


def _translate(entry: Entry, words: AlignedPair, language: str) -> Iterator[TextPair]:
    yield entry.source, entry.target


def _translate_back(entry: Entry, words: AlignedPair, language: str) -> Iterator[TextPair]:
    yield entry.target, entry.source


def _tag(entry: Entry, words: AlignedPair, language: str) -> Iterator[TextPair]:
    yield entry.source, " ".join(word.kind for word in words.source)


def _classify(entry: Entry, words: AlignedPair, language: str) -> Iterator[TextPair]:
    kind = _kind(entry)
    yield entry.source, kind if kind in _frequent(language) else OTHER


def _kind(entry: Entry) -> str:
    return entry.pattern.partition("-")[0]


@cache
def _frequent(language: str) -> frozenset[str]:
    counts = Counter(_kind(entry) for entry in phrasebook(language) if entry.split == "train")
    return frozenset(kind for kind, count in counts.items() if count >= RARE)


def _ask(entry: Entry, words: AlignedPair, language: str) -> Iterator[TextPair]:
    """What a pronoun stands for, what a verb goes with, what a noun is in the other language."""
    texts = [word.text for word in words.source]
    once = [(n, word) for n, word in enumerate(words.source) if texts.count(word.text) == 1]
    for _, word in once:
        number = subject_of(words.source, word)
        subject = "" if number is None else texts[number]
        if subject and word.text.lower() == "it":
            yield f'What does "{word.text}" stand for? {entry.source}', subject
        elif subject and word.kind == "verb":
            yield f'What does "{word.text}" go with? {entry.source}', subject
    for place, word in once:
        other = [words.target[there].text for here, there in words.links if here == place]
        if word.kind == "noun" and len(other) == 1:
            question = f'What is "{word.text}" in {LANGUAGES[language]}?'
            yield f"{question} {entry.source}", other[0]
            return  # one of them is enough: sentences have many nouns


def subject_of(words: Sequence[Word], word: Word) -> int | None:
    """The place of the last word of the slot that a word's form follows from; None: of none."""
    named = [n for n, w in enumerate(words) if w.slot in word.agrees_with and w.kind in SUBJECTS]
    return named[-1] if len(word.agrees_with) == 1 and named else None


MAKE: dict[str, Callable[[Entry, AlignedPair, str], Iterator[TextPair]]] = {
    "translate": _translate,
    "translate-back": _translate_back,
    "tag": _tag,
    "classify": _classify,
    "ask": _ask,
}
