"""The phrasebook as data of every objective: what its grammar knows of a sentence.

Texts, each once: `english_phrases` and `both_sides` plain, `tagged_phrases` with the classes of
their words, `asked_phrases` with questions. Tasks of a text-to-text run, as pairs of texts:

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
from regard.data.phrasebook.corpus import (
    AlignedPair,
    Entry,
    Word,
    aligned_pairs,
    phrasebook,
    words_of_sentences,
)
from regard.data.questions import Span

TextPair = tuple[str, str]
LANGUAGES = {"de": "German", "hi": "Hindi"}
RARE, OTHER = 200, "other"  # sentences to train on, below which a kind has no name of its own
SUBJECTS = ("noun", "name", "pronoun")
# class of a word → how it is asked for, in sentences that have only one
CLASSES = {"name": "Who or what is named?", "adjective": "What is it like?", "number": "How many?"}


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


def english_phrases(language: str, split: str) -> Iterator[Labelled]:
    """The English sentences, each once."""
    return _as_texts(_english(language, split))


def _english(language: str, split: str) -> dict[str, None]:
    return dict.fromkeys(entry.source for entry in phrasebook(language) if entry.split == split)


def _as_texts(texts: dict[str, None]) -> Iterator[Labelled]:
    return (Labelled(text, None, (), line) for line, text in enumerate(texts, start=1))


def both_sides(language: str, split: str) -> Iterator[Labelled]:
    """The sentences of both languages as plain texts, each once."""
    entries = [entry for entry in phrasebook(language) if entry.split == split]
    texts = dict.fromkeys(text for entry in entries for text in (entry.source, entry.target))
    return _as_texts(texts)


def tagged_phrases(language: str, split: str) -> Iterator[Labelled]:
    """The English sentences, each once, with the classes of their words."""
    words_by_text = words_of_sentences(language)
    for line, text in enumerate(_english(language, split), start=1):
        words = words_by_text[text]
        tags = tuple(word.kind for word in words)
        yield Labelled(" ".join(word.text for word in words), None, tags, line)


def asked_phrases(language: str, split: str) -> Iterator[Labelled]:
    """Questions about the English sentences, each with the word that answers it: what a pronoun
    stands for, what a verb goes with, which word is of a class that only one has."""
    by_text, line = words_of_sentences(language), 0
    for text in _english(language, split):
        for question, place in _asked(by_text[text]):
            line += 1
            answer = _place_of(text, by_text[text], place)
            yield Labelled(question, text, (str(answer),), line)


def _asked(words: list[Word]) -> Iterator[tuple[str, int]]:
    """Questions, and the number of the word that answers each."""
    yield from _about_subjects(words)
    kinds = [word.kind for word in words]
    for kind, asked in CLASSES.items():
        if kinds.count(kind) == 1:
            yield asked, kinds.index(kind)


def _about_subjects(words: Sequence[Word]) -> Iterator[tuple[str, int]]:
    """What a pronoun stands for, what a verb goes with: of words that stand once."""
    texts = [word.text for word in words]
    for word in words:
        subject = subject_of(words, word) if texts.count(word.text) == 1 else None
        if subject is not None and word.text.lower() == "it":
            yield f'What does "{word.text}" stand for?', subject
        elif subject is not None and word.kind == "verb":
            yield f'What does "{word.text}" go with?', subject


def _place_of(text: str, words: list[Word], number: int) -> Span:
    """Where a word stands; those before it are passed one by one, for words that stand twice."""
    at = 0
    for word in words[:number]:
        at = text.index(word.text, at) + len(word.text)
    return Span(text.index(words[number].text, at), words[number].text)


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
    for question, subject in _about_subjects(words.source):
        yield f"{question} {entry.source}", texts[subject]
    for place, word in enumerate(words.source):
        other = [words.target[there].text for here, there in words.links if here == place]
        if word.kind == "noun" and texts.count(word.text) == 1 and len(other) == 1:
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
