"""Which slot each word stands in, and which words of a pair translate each other.

    The           animal  didn't cross  the           street  because  it  was too  tired  .
    A.determiner  A                     B.determiner  B                @            X
    Das           Tier    überquerte    die           Straße  nicht , weil  es  zu  müde  war .
    A.determiner  A                     B.determiner  B                     @       X

Both sentences are made of the same slots, so words in the same part of the same slot belong
together. A verb that a pattern names by its lemma is a slot too: {want:S} and {wollen:S} are the
slot `want`. Of fixed text nothing is known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

from grammar import english
from grammar.fillers import Filler, NounPhrase
from grammar.german.grammar import CONTRACTIONS
from grammar.german.nominal import NO_CONTRACTION
from grammar.notation import Hole, Piece
from grammar.sampling import Draft, Language, agreeing, filler_of, realised
from grammar.word_classes import words_of
from regard.data.phrasebook.corpus import AlignedPair, PhrasebookError, Word
from regard.text.words import WORD, split_words

DECIDING = "@"  # the slot of the pronoun whose antecedent a reading decides
PERFECT = ("aux", "aux-past")  # German forms of a verb that English says with `have`
COPULA = ("था", "थी")  # Hindi: the answer where वह has no gender
PRONOUN, NOUN = re.compile(r"\b(it|वह)\b"), re.compile(r"\b([Bb]anks?|[Aa]pples?)\b")
EITHER_FORM = re.compile(r"\x01(.*?)\x02(.*?)\x03")
ELSEWHERE = ("rest", "case", "not")  # parts that do not agree, though their verb or noun may


class Side(Protocol):
    """What a language says of the words that it realised (sampling.Language, english)."""

    def parts(self, filler: Filler, form: str, words: list[str]) -> list[str]: ...

    def controller(self, filler: Filler, form: str, agree: tuple[Filler, ...]) -> Filler | None: ...


@dataclass(frozen=True)
class Place:
    """Where a word stands: its slot, what it agrees with, and the number of its hole."""

    slot: str = ""
    agrees_with: tuple[str, ...] = ()
    hole: int = -1


FIXED = Place()


def aligned(draft: Draft, language: Language) -> AlignedPair:
    """The words of a draft, and which belong together."""
    plan = draft.twin or draft
    pattern, fillers, lexicon = plan.pattern, plan.fillers, language.lexicon

    def source_text(hole: Hole) -> str:
        subject = fillers.get(hole.agree)
        phrase = subject if isinstance(subject, NounPhrase) else None
        return english.realise(filler_of(pattern, hole, fillers, lexicon), hole.form, phrase)

    def target_text(hole: Hole) -> str:
        return realised(language, pattern, hole, fillers, plan.answer)

    sources = _places(pattern.source, source_text, english, plan, language, plan.source)
    targets = _places(pattern.target, target_text, language, plan, language, plan.target)
    words = [
        replace(word, slot=place.slot, agrees_with=_of_english(word, place))
        for word, place in zip(words_of(draft, lexicon), sources, strict=True)
    ]
    others = [
        Word(text, "", "", place.slot, place.agrees_with)
        for text, place in zip(split_words(draft.target), targets, strict=True)
    ]
    return AlignedPair(tuple(words), tuple(others), tuple(_links(sources, targets)))


def _of_english(word: Word, place: Place) -> tuple[str, ...]:
    """Few English words have forms that follow from others."""
    slot, _, part = place.slot.partition(".")
    if part == "determiner":
        own = (slot,) if word.agrees == "number" else ()
        return own + tuple(name for name in place.agrees_with if name != slot)
    if word.agrees not in ("", "sound") or part in ("pronoun", "possessive") or slot == DECIDING:
        return place.agrees_with
    return ()


def _places(
    template: Sequence[Piece],
    text_of: Callable[[Hole], str],
    side: Side,
    draft: Draft,
    language: Language,
    sentence: str,
) -> list[Place]:
    """The place of each word of a sentence, found letter by letter before it was polished."""
    text, letters = "", list[Place]()
    for number, piece in enumerate(template or (sentence,)):
        if isinstance(piece, str):
            segments = _fixed(piece, draft, number)
        else:
            segments = _hole(piece, number, text_of(piece), side, draft, language)
        for segment, place in segments:
            text += segment
            letters += [place] * len(segment)
    raw = [
        (match[0].lower(), next((one for one in letters[slice(*match.span())] if one.slot), FIXED))
        for match in WORD.finditer(text)
    ]
    return _polished(raw, sentence)


def _fixed(text: str, draft: Draft, number: int) -> list[tuple[str, Place]]:
    """Fixed text; in it stands the word whose meaning a reading decides."""
    text = unicodedata.normalize("NFC", text)
    if not draft.pattern.readings:
        return [(text, FIXED)]
    antecedent = (draft.antecedent,) if draft.antecedent else ()
    deciding = Place(DECIDING, antecedent, number)
    wanted = PRONOUN if draft.antecedent else NOUN
    return [
        (part, deciding if place % 2 else FIXED) for place, part in enumerate(wanted.split(text))
    ]


def _hole(
    hole: Hole, number: int, text: str, side: Side, draft: Draft, language: Language
) -> list[tuple[str, Place]]:
    """The words of a hole, each with its part of the slot and what it agrees with."""
    if hole.name == DECIDING:
        antecedent = (draft.antecedent,) if draft.antecedent else ()
        return [(text, Place("be" if text in COPULA else DECIDING, antecedent, number))]
    if both := EITHER_FORM.match(text):
        text = both[1 if draft.answer == COPULA[0] else 2]
    words = unicodedata.normalize("NFC", text.replace(NO_CONTRACTION, "")).split()
    filler = filler_of(draft.pattern, hole, draft.fillers, language.lexicon)
    parts = side.parts(filler, hole.form, words)
    leader = side.controller(filler, hole.form, agreeing(hole, draft.fillers))
    controllers = tuple(name for name, other in draft.fillers.items() if other is leader)
    slot = hole.name
    if slot not in draft.fillers:
        assert not isinstance(filler, NounPhrase)
        slot = filler.en.strip("{}").split()[0]
    if hole.form in PERFECT:
        slot = "have"
    segments: list[tuple[str, Place]] = []
    for word, part in zip(words, parts, strict=True):
        follows = controllers if part not in ELSEWHERE or hole.form == "refl" else ()
        if isinstance(filler, NounPhrase):
            follows = controllers if word is words[-1] else ()
            if part in ("determiner", "adjective", "pronoun", "possessive", "relative"):
                follows = (slot, *follows)
            if part == "determiner":
                follows = (*follows, *_owners(hole.name, filler, draft))
        name = f"{slot}.{part}" if part else slot
        if (
            word.strip(",") == draft.answer and not draft.antecedent
        ):  # Bank, in the slot of "zur Bank"
            name = DECIDING
        segments += [(word, Place(name, follows, number)), (" ", FIXED)]
    return segments[:-1]


def _owners(slot: str, phrase: NounPhrase, draft: Draft) -> tuple[str, ...]:
    """The slot that a possessive determiner refers to: `O: S's bag` in Anna lost her bag."""
    readings = [one for reading in draft.pattern.readings for one in reading.slots]
    specs = [
        text.split()[0]
        for one in (*draft.pattern.slots, *readings)
        if one.name == slot
        for text in one.alternatives
    ]
    return tuple(
        name
        for name, other in draft.fillers.items()
        if isinstance(other, NounPhrase)
        and other.possessive == phrase.determiner
        and any(f"{name}'s" in spec.partition("+")[0].split("/") for spec in specs)
    )


def _polished(raw: list[tuple[str, Place]], sentence: str) -> list[Place]:
    """The places of the words that a polished sentence has: im for in dem, an for a."""
    places: list[Place] = []
    here = 0
    for word in (text.lower() for text in split_words(sentence)):
        if CONTRACTIONS.get(" ".join(text for text, _ in raw[here : here + 2])) == word:
            here += 1  # the place of the article
        elif raw[here][0] == "," != word:
            here += 1  # Hindi has no comma before क्योंकि
        elif (raw[here][0], word) not in (("a", "an"), (".", "।"), (word, word)):
            raise PhrasebookError(f"{sentence!r}: {word!r} is not in its pattern")
        places.append(raw[here][1])
        here += 1
    return places


def _links(sources: list[Place], targets: list[Place]) -> Iterator[tuple[int, int]]:
    """Words in the same part of the same slot; where it is used as often in both sentences."""
    one, other = _by_slot(sources), _by_slot(targets)
    for slot in dict.fromkeys([*one, *other]):
        verb = slot.removesuffix(".rest")  # what hangs on a verb here may be in the verb there
        words, translations = (side.get(slot) or side.get(verb, []) for side in (one, other))
        if len(words) == len(translations):
            for group, translation in zip(words, translations, strict=True):
                yield from product(group, translation)


def _by_slot(places: list[Place]) -> dict[str, list[list[int]]]:
    """Slot → the words of each hole that it fills; what hangs on a verb is one group."""
    holes: dict[str, dict[int, list[int]]] = {}
    for word, place in enumerate(places):
        if place == FIXED:
            continue
        hole = 0 if place.slot.endswith(".rest") else place.hole
        holes.setdefault(place.slot, {}).setdefault(hole, []).append(word)
    return {slot: list(groups.values()) for slot, groups in holes.items()}
