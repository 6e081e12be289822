"""The class of each English word, and which words agree: a draft in, its words out.

    The       tired      dogs   sleep  because      they     are        old        .
    determiner adjective noun   verb   conjunction  pronoun  auxiliary  adjective  punctuation

What fills a hole has the class that the grammar put it there for. The words of fixed text are
looked up (lexicon/classes.tsv, and class_phrases.tsv where a neighbour decides); `to`, `that` and a
few more are decided by the words around them. Every form of be, have and do is an auxiliary.

A word *agrees* where its form follows from another word of its sentence: finite verbs in the
present (and was/were) with their subject, this/these with the number of a noun, a/an with a sound,
"one's" and "oneself" of a phrase with a subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from grammar import english
from grammar.fillers import NUMERALS, POSSESSIVES, Filler, NounPhrase
from grammar.notation import Hole, Piece
from grammar.sampling import Draft
from grammar.tables import Lexeme, Lexicon
from regard.data.phrasebook.corpus import PhrasebookError, Word
from regard.text.words import split_words

CLASSES = (
    "determiner", "noun", "name", "pronoun", "verb", "auxiliary", "adjective", "adverb", "number",
    "preposition", "conjunction", "particle", "interjection", "punctuation",
)  # fmt: skip
FOLDER = Path(__file__).parent / "lexicon"
COMPANY = ("Apple", "ऐपल")  # the answer of a sentence in which Apple is no fruit
HELPERS = ("be", "have", "do")
# of words that agree, but not with a subject: the forms among which they are
OTHER_FORMS = (("this", "these"), ("a", "an"), (*POSSESSIVES, "its"), (*english.SELVES.values(),))
# words of fixed text that agree with a subject in the third person singular, or do not
SINGULAR, OTHERS = ("is", "was", "has", "does"), ("are", "were")


def words_of(draft: Draft, lexicon: Lexicon) -> list[Word]:
    """The words of a draft's English sentence, as they stand there."""
    pieces: Sequence[Piece] = draft.pattern.source or (draft.source,)
    words = [word for piece in pieces for word in _piece(piece, draft.fillers, lexicon)]
    if draft.answer in COMPANY:
        words = [replace(one, kind="name") if one.text == "Apple" else one for one in words]
    written = split_words(draft.source)
    if [_without_n(one.text) for one in words] != [_without_n(word) for word in written]:
        raise PhrasebookError(f"words of {draft.source!r} are not those of its pattern")
    words = [replace(one, text=text) for one, text in zip(words, written, strict=True)]
    kinds = [one.kind for one in words]
    for place, one in enumerate(words):
        if decide := _BY_PLACE.get(one.text.lower()) if one.kind == "?" else None:
            kinds[place] = decide([word.text.lower() for word in words], kinds, place)
    return [
        Word(one.text, kind, one.agrees or _literal_agreement(one.text.lower(), kind))
        for one, kind in zip(words, kinds, strict=True)
    ]


def verb_forms(lexicon: Lexicon) -> dict[str, set[str]]:
    """The forms of all verbs, by the subject that they agree with: I, one, or others."""
    heads = {lexeme.en.split()[0] for lexeme in lexicon.lexemes if lexeme.kind == "verb"}
    bases = {head for head in heads if head in HELPERS or _table().get(head) != "auxiliary"}
    bases -= {"be", "would-like"}
    return {
        "I": {*bases, "am", "was"},
        "singular": {*map(english.third, bases), "is", "was"},
        "other": {*bases, "are", "were"},
    }


def _without_n(word: str) -> str:
    return "a" if word.lower() == "an" else word.lower()


def _literal_agreement(word: str, kind: str) -> str:
    """Of words that are always finite, and of determiners."""
    if word in ("this", "these") and kind == "determiner":
        return "number"
    if word in SINGULAR:
        return "singular"
    if word in OTHERS:
        return "other"
    return {"a": "sound", "an": "sound", "am": "I"}.get(word, "")


def _piece(piece: Piece, fillers: Mapping[str, Filler], lexicon: Lexicon) -> list[Word]:
    if isinstance(piece, str):
        return _fixed(piece)
    filler = fillers.get(piece.name) or lexicon.find("verb", piece.name)
    agree = fillers.get(piece.agree)
    subject = agree if isinstance(agree, NounPhrase) else None
    assert filler is not None, piece
    text = english.realise(filler, piece.form, subject)
    if isinstance(filler, NounPhrase):
        return _noun_phrase(filler, piece.form, text)
    if filler.kind == "verb":
        return _verb(filler, piece, subject, text)
    if filler.kind == "adj":
        *before, last = split_words(text)  # "more" and "most" stand before it
        return [*(Word(word, "adverb") for word in before), Word(last, "adjective")]
    return _fixed(text)


def _noun_phrase(phrase: NounPhrase, form: str, text: str) -> list[Word]:
    words = split_words(text)
    if form == "poss":
        return [Word(text, "determiner")]
    if phrase.is_pronoun or form in ("pron", "pron-obj", "self"):
        return [Word(word, "pronoun") for word in words]
    if phrase.definite_name:
        return [Word(word, "name") for word in words]
    assert phrase.head is not None
    kinds = ["noun"] * len(phrase.head.en.split())
    if phrase.adjective is not None and form != "bare":
        kinds = ["adjective", *kinds]
        if phrase.adjective.cell("en_grade") == "more" and phrase.degree:
            kinds = ["adverb", *kinds]
    first = words[: len(words) - len(kinds)]
    kinds = [*_determiner(first), *kinds]
    return [Word(word, kind) for word, kind in zip(words, kinds, strict=True)]


def _determiner(words: Sequence[str]) -> list[str]:
    if words == ["how", "many"]:
        return ["adverb", "determiner"]
    return ["number" if word in NUMERALS else "determiner" for word in words]


def _verb(lexeme: Lexeme, hole: Hole, subject: NounPhrase | None, text: str) -> list[Word]:
    base, _, tail = lexeme.en.partition(" ")
    kinds = [word.kind for word in _fixed(lexeme.en, first="verb")][1:] if tail else []
    # all that `would` and its like can be is in the table
    helps = base in HELPERS or _table().get(base) == "auxiliary"
    words = split_words(text)
    tagged = [
        Word(word, kind)
        for word, kind in zip(
            words, ["auxiliary" if helps or words[0] == "had" else "verb", *kinds], strict=True
        )
    ]
    finite = hole.form == "" or (hole.form == "past" and base == "be")
    if finite and subject is not None:
        tagged[0] = replace(tagged[0], agrees=_person(subject))
    for place, word in enumerate(split_words(lexeme.en)):
        if word in ("one's", "oneself") and subject is not None:
            kind = "determiner" if word == "one's" else "pronoun"
            tagged[place] = replace(tagged[place], kind=kind, agrees="person")
    return tagged


def _person(subject: NounPhrase) -> str:
    if subject.is_pronoun and subject.word == "I":
        return "I"
    return "singular" if subject.person == 3 and not subject.plural else "other"


def _fixed(text: str, first: str = "") -> list[Word]:
    """Words of fixed text, as the tables say; "?" where the place decides."""
    words = split_words(text)
    lowered = [word.lower() for word in words]
    kinds: list[str] = []
    while len(kinds) < len(words):
        here = len(kinds)
        for size in (3, 2, 1):
            classes = _phrases().get(" ".join(lowered[here : here + size]))
            if classes and len(classes) == len(lowered[here : here + size]):
                kinds += classes
                break
        else:
            kinds.append(first if first and not here else _kind(words[here]))
    return [Word(word, kind) for word, kind in zip(words, kinds, strict=True)]


def _kind(word: str) -> str:
    if not word[0].isalnum():
        return "punctuation"
    if word.lower() in _BY_PLACE or word == "one's" or word == "oneself":
        return "?"
    kind = _table().get(word) or _table().get(word.lower())
    if kind is None:
        raise PhrasebookError(
            f"lexicon/classes.tsv: the word {word!r} of fixed text has no class; add it to one"
        )
    return kind


@cache
def _table() -> dict[str, str]:
    rows = (FOLDER / "classes.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {
        word: kind
        for kind, words in (row.split("\t") for row in rows)
        for word in words.split()
    }  # fmt: skip


@cache
def _phrases() -> dict[str, list[str]]:
    rows = (FOLDER / "class_phrases.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {words: kinds.split() for words, kinds in (row.split("\t") for row in rows)}


def _to(words: list[str], kinds: list[str], place: int) -> str:
    follows = kinds[place + 1 : place + 2]
    return "particle" if follows in (["verb"], ["auxiliary"]) else "preposition"


def _that(words: list[str], kinds: list[str], place: int) -> str:
    """ "Who is that?", "that is": a pronoun; "the coat that …" too; "says that …": no."""
    follows = kinds[place + 1 : place + 2]
    if follows in ([], ["auxiliary"], ["punctuation"]):
        return "pronoun"
    return "pronoun" if kinds[place - 1 : place] == ["noun"] else "conjunction"


def _before_noun(otherwise: str) -> Callable[[list[str], list[str], int], str]:
    def decide(words: list[str], kinds: list[str], place: int) -> str:
        follows = kinds[place + 1 : place + 2]
        return "determiner" if follows in (["noun"], ["adjective"]) else otherwise

    return decide


def _after_before(words: list[str], kinds: list[str], place: int) -> str:
    """Before a clause a conjunction: a noun phrase and then its verb."""
    rest = " ".join(kinds[place + 1 :])
    phrase = r"(pronoun|name|(determiner )?(adjective )?noun( noun)?)"
    return "conjunction" if re.match(phrase + " (verb|auxiliary)", rest) else "preposition"


def _broke(words: list[str], kinds: list[str], place: int) -> str:
    follows = kinds[place - 1 : place]
    return "adjective" if follows in (["auxiliary"], ["adverb"]) else "verb"


_BY_PLACE: dict[str, Callable[[list[str], list[str], int], str]] = {
    "to": _to,
    "that": _that,
    "this": _before_noun("pronoun"),
    "no": _before_noun("interjection"),
    "after": _after_before,
    "before": _after_before,
    "broke": _broke,
}
