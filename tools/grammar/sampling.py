"""Fill the slots of a pattern and realise both sides: patterns in, drafts of pairs out.

Choice is random but balanced: of two random candidates the one used less so far is taken, so that
rare words come up too.  Two slots of a sentence never hold the same word.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from grammar import english
from grammar.fillers import (
    COUNTERS,
    DETERMINERS,
    NUMERALS,
    PRONOUNS,
    Filler,
    NounPhrase,
    core,
)
from grammar.lemmas import lemmas_of
from grammar.notation import Hole, Pattern, PatternReading, Slot
from grammar.tables import Lexeme, Lexicon
from regard.data.phrasebook.corpus import PhrasebookError

BLANK = "___"
PAIRS_PER_READING = 3  # how often each reading of a frame is spelled out at most
ATTEMPTS = 12  # draws of a filler, or of one reading's spelling, before giving up
FRUITLESS = 20  # draws in a row without a new pair (and a quarter of those found): exhausted
_KINDS = ("verb", "adj", "word")
_KEYWORDS = {"pro": PRONOUNS, "pro3": ("he", "she", "they"), **{p: (p,) for p in PRONOUNS}}


class Language(Protocol):
    """What the engine needs from a target language."""

    lexicon: Lexicon
    patterns: tuple[Pattern, ...]

    def gender(self, phrase: NounPhrase) -> str:
        """What decides the pronoun for a phrase."""

    def pronoun(self, phrase: NounPhrase) -> str:
        """The subject pronoun that refers back to a phrase."""

    def finish(self, text: str) -> str:
        """Polish a whole sentence."""

    def realise(
        self, filler: Filler, form: str, agree: tuple[Filler, ...], governor: Lexeme | None
    ) -> str:
        """A filler in a form, agreeing with the fillers that the hole names."""

    def parts(self, filler: Filler, form: str, words: list[str]) -> list[str]:
        """What each word of a realised filler is in it (alignment.py)."""

    def controller(self, filler: Filler, form: str, agree: tuple[Filler, ...]) -> Filler | None:
        """Which of the fillers that the hole names a realised filler agrees with."""


@dataclass(frozen=True)
class Draft:
    """A pair before the split is decided; `key` names the combination of fillers behind it."""

    pattern: Pattern
    source: str
    target: str
    key: str
    lemmas: tuple[tuple[str, str], ...]
    frame: str = ""
    answer: str = ""
    rivals: tuple[str, ...] = ()
    fillers: Mapping[str, Filler] = field(default_factory=dict)  # what stands in the slots
    antecedent: str = ""  # the slot that the answer, a pronoun, refers to
    twin: Draft | None = None  # of a sentence of the notes: a pattern's draft of the same pair


Fillers = dict[str, Filler]


class Sampler:
    """Draws fillers for patterns of one language."""

    def __init__(self, language: Language, rng: random.Random) -> None:
        self._language = language
        self._rng = rng
        self._used: Counter[str] = Counter()
        self._wanted: tuple[str, ...] = ()
        self._drawn: set[str] = set()  # combinations of the pattern at hand
        self._noun_lists: dict[tuple[str, ...], list[Lexeme]] = {}

    def drafts(self, pattern: Pattern) -> list[Draft]:
        """Up to `pattern.count` drafts, distinct by their English side; each frame once."""
        drafts: dict[str, Draft] = {}
        self._drawn.clear()
        wishes = iter(pattern.include)
        fruitless = 0
        while len(drafts) < pattern.count and fruitless <= FRUITLESS + len(drafts) // 4:
            self._wanted = next(wishes, ())
            before = len(drafts)
            for draft in self._draw(pattern):
                drafts.setdefault(draft.source, draft)
            fruitless = 0 if len(drafts) > before else fruitless + 1
        return list(drafts.values())

    def _draw(self, pattern: Pattern) -> list[Draft]:
        shared = self._fill(pattern, pattern.slots, {})
        if shared is None or (key := _key(pattern, shared)) in self._drawn:
            return []
        self._drawn.add(key)
        if pattern.readings:
            return self._readings(pattern, shared)
        drafts = [self._draft(pattern, shared, key)]
        if pattern.swap:
            one, other = pattern.swap
            turned = {**shared, one: shared[other], other: shared[one]}
            drafts.append(self._draft(pattern, turned, drafts[0].key))
        return drafts

    def _readings(self, pattern: Pattern, shared: Fillers) -> list[Draft]:
        """All readings of one frame, each spelled out equally often."""
        key = _key(pattern, shared)
        genders = [self._gender(shared[name]) for name in pattern.deciding_slots]
        if len(set(genders)) < len(genders):
            return []
        answers = [self._answer(reading, shared) for reading in pattern.readings]
        spelled: list[list[Draft]] = []
        for reading, answer in zip(pattern.readings, answers, strict=True):
            versions: dict[str, Draft] = {}
            for _ in range(ATTEMPTS):
                filled = self._fill(pattern, reading.slots, shared)
                if filled is None:
                    return []
                extra = tuple(slot.name for slot in reading.slots)
                rivals = tuple(other for other in answers if other != answer)
                draft = self._draft(pattern, filled, key, extra, answer, rivals)
                draft = replace(
                    draft, antecedent=reading.answer if reading.answer in shared else ""
                )
                versions.setdefault(draft.source, draft)
                if len(versions) == PAIRS_PER_READING:
                    break
            spelled.append(list(versions.values()))
        fewest = min(len(versions) for versions in spelled)
        return [draft for versions in spelled for draft in versions[:fewest]]

    def _gender(self, filler: Filler) -> str:
        return self._language.gender(filler) if isinstance(filler, NounPhrase) else ""

    def _answer(self, reading: PatternReading, shared: Fillers) -> str:
        antecedent = shared.get(reading.answer)
        if isinstance(antecedent, NounPhrase):
            return self._language.pronoun(antecedent)
        return reading.answer

    def _fill(self, pattern: Pattern, slots: Sequence[Slot], shared: Fillers) -> Fillers | None:
        fillers = dict(shared)
        for slot in slots:
            for _ in range(ATTEMPTS):
                filler = self._choose(pattern, slot, fillers)
                if filler is None:
                    return None
                if core(filler) not in {core(other) for other in fillers.values()}:
                    break
            else:
                return None
            fillers[slot.name] = filler
            self._used[core(filler)] += 1
        return fillers

    def _choose(self, pattern: Pattern, slot: Slot, fillers: Fillers) -> Filler | None:
        """A filler for the slot; None where the slots filled before leave nothing to choose."""
        spec = self._rng.choice(slot.alternatives)
        first, _, rest = spec.partition(" ")
        if first in _KEYWORDS:
            word = self._rng.choice(_KEYWORDS[first])
            return NounPhrase(word, plural=word in ("we", "they"))
        where = f"pattern {pattern.name}, slot {slot.name}"
        if first.startswith("name"):
            head = self._pick(self._language.lexicon.members("name", "name"), where)
            return NounPhrase(head.en, head, definite_name=True)
        if first in _KINDS:
            candidates = self._lexemes(first, rest, fillers)
            if not candidates and rest in fillers:
                return None
            return self._pick(candidates, f"{where}: {spec}")
        return self._noun_phrase(first, rest, fillers, f"{where}: {spec}")

    def _lexemes(self, kind: str, names: str, fillers: Fillers) -> Sequence[Lexeme]:
        other = fillers.get(names)
        if isinstance(other, NounPhrase) and other.head is not None:
            return _suiting(self._language.lexicon, other.head)
        return self._language.lexicon.members(kind, names)

    def _noun_phrase(
        self, dets: str, names: str, fillers: Fillers, where: str
    ) -> NounPhrase | None:
        determiner = self._rng.choice(dets.split("/"))
        determiner, _, decorated = determiner.partition("+")
        if determiner == "num":
            determiner = self._rng.choice(NUMERALS)
        owner = fillers.get(determiner.removesuffix("'s"))
        if determiner.endswith("'s") and isinstance(owner, NounPhrase):
            determiner = owner.possessive
        elif determiner not in DETERMINERS:
            raise PhrasebookError(f"{where}: {determiner!r} is neither a determiner nor a slot")
        counted = determiner in COUNTERS or determiner == "how-many"
        nouns: dict[Lexeme, bool] = {}
        for item in names.split(","):
            classes, *marks = item.split(".")
            verb = fillers.get(classes)
            if isinstance(verb, Lexeme):
                classes = verb.cell("objects")
            plural = counted or "pl" in marks
            for noun in self._nouns(classes, tuple(marks), plural, decorated):
                nouns.setdefault(noun, plural)
        if not nouns and "object" in names:
            return None
        head = self._pick(list(nouns), where)
        adjective = None
        if decorated:
            adjective = self._pick(self._qualities(head, decorated), where)
            self._used[adjective.key] += 1
        degree = decorated if decorated in ("comp", "sup") else ""
        return NounPhrase(head.en, head, determiner, adjective, nouns[head], degree)

    def _nouns(self, names: str, marks: tuple[str, ...], plural: bool, degree: str) -> list[Lexeme]:
        """The nouns of the classes that can stand in this number and gender, with an adjective."""
        key = (names, *marks, str(plural), degree)
        if key not in self._noun_lists:
            genders = [mark for mark in marks if mark in ("m", "f", "n")]
            self._noun_lists[key] = [
                noun
                for noun in self._language.lexicon.members("noun", names)
                if not (plural and noun.flag("mass"))
                and (noun.flag("mass") or "mass" not in marks)
                and (not genders or self._gender(NounPhrase(noun.en, noun)) in genders)
                and (not degree or self._qualities(noun, degree))
            ]
        return self._noun_lists[key]

    def _qualities(self, noun: Lexeme, degree: str) -> Sequence[Lexeme]:
        """The adjectives for a noun; graded ones must be of a class named rank…"""
        suiting = _suiting(self._language.lexicon, noun)
        if degree == "adj":
            return suiting
        return [a for a in suiting if any(name.startswith("rank") for name in a.classes)]

    def _pick(self, candidates: Sequence[Lexeme], where: str) -> Lexeme:
        if not candidates:
            raise PhrasebookError(f"{where}: nothing in the lexicon fits")
        if self._wanted:
            wanted = [candidate for candidate in candidates if candidate.en in self._wanted]
            if wanted:
                return self._rng.choice(wanted)
        one, other = self._rng.choice(candidates), self._rng.choice(candidates)
        return one if self._used[one.key] <= self._used[other.key] else other

    def _draft(
        self,
        pattern: Pattern,
        fillers: Fillers,
        key: str,
        blanked: tuple[str, ...] = (),
        answer: str = "",
        rivals: tuple[str, ...] = (),
    ) -> Draft:
        source = english.finish(self._source(pattern, fillers))
        frame = english.finish(self._source(pattern, fillers, blanked)) if blanked else ""
        target = self._language.finish(self._target(pattern, fillers, answer))
        lemmas = tuple(lemmas_of(pattern.source, fillers, self._language.lexicon))
        return Draft(pattern, source, target, key, lemmas, frame, answer, rivals, fillers)

    def _source(self, pattern: Pattern, fillers: Fillers, blanked: tuple[str, ...] = ()) -> str:
        words = []
        for piece in pattern.source:
            if isinstance(piece, str):
                words.append(piece)
            elif piece.name in blanked:
                words.append(BLANK)
            else:
                filler = filler_of(pattern, piece, fillers, self._language.lexicon)
                words.append(english.realise(filler, piece.form, _phrase(fillers, piece.agree)))
        return "".join(words)

    def _target(self, pattern: Pattern, fillers: Fillers, answer: str) -> str:
        return "".join(
            piece
            if isinstance(piece, str)
            else realised(self._language, pattern, piece, fillers, answer)
            for piece in pattern.target
        )


def realised(
    language: Language, pattern: Pattern, hole: Hole, fillers: Mapping[str, Filler], answer: str
) -> str:
    """What stands in a hole of the target side."""
    if hole.name == "@":
        return answer
    governor = fillers.get(hole.form)
    verb = governor if isinstance(governor, Lexeme) else None
    filler = filler_of(pattern, hole, fillers, language.lexicon)
    return language.realise(filler, hole.form, agreeing(hole, fillers), verb)


def agreeing(hole: Hole, fillers: Mapping[str, Filler]) -> tuple[Filler, ...]:
    """What fills the slots that a hole names after its colon; a slot may be named twice."""
    return tuple(fillers[name] for name in hole.agree.split(",") if name in fillers)


def filler_of(
    pattern: Pattern, hole: Hole, fillers: Mapping[str, Filler], lexicon: Lexicon
) -> Filler:
    """What fills a hole: a slot's filler, or the verb that the hole names."""
    filler = fillers.get(hole.name) or lexicon.find("verb", hole.name)
    if filler is None:
        raise PhrasebookError(
            f"pattern {pattern.name}: {{{hole.name}}} is neither a slot nor a verb"
        )
    return filler


def _phrase(fillers: Mapping[str, Filler], name: str) -> NounPhrase | None:
    filler = fillers.get(name)
    return filler if isinstance(filler, NounPhrase) else None


def _key(pattern: Pattern, fillers: Fillers) -> str:
    keys = [filler.key for name, filler in fillers.items() if name not in pattern.swap]
    swapped = sorted(fillers[name].key for name in pattern.swap)
    return "\n".join((pattern.family, *keys, *swapped))


def _suiting(lexicon: Lexicon, noun: Lexeme) -> Sequence[Lexeme]:
    """The adjectives that share a class with the noun."""
    return lexicon.members("adj", ",".join(sorted(noun.classes)))
