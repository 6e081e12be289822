"""Statements ↔ captions, in English and German; and which word of a caption means which group.

Group(2, "red", "circle") above Group(1, "blue", "square")
two red circles above a blue square
zwei rote Kreise über einem blauen Quadrat
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal, get_args

from regard.data.scenes.drawing import COLOURS, SHAPES
from regard.data.scenes.statement import MOST, Group, Relation, Statement

Language = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
NUMBERS = {"en": ("two", "three", "four"), "de": ("zwei", "drei", "vier")}
BETWEEN: dict[Language, dict[Relation, str]] = {
    "en": {
        "above": "above",
        "below": "below",
        "left of": "to the left of",
        "right of": "to the right of",
    },
    "de": {
        "above": "über",
        "below": "unter",
        "left of": "links von",
        "right of": "rechts von",
    },
}
HISSING = ("s", "x", "ch", "sh")  # English nouns that end so have -es for several
VOWELS = "aeiou"
AND: dict[Language, str] = {"en": "and", "de": "und"}
GERMAN_COLOURS = {
    "red": "rot",
    "yellow": "gelb",
    "green": "grün",
    "blue": "blau",
    "purple": "violett",
    "black": "schwarz",
}
# gender, singular, plural, plural behind a preposition (dative)
GERMAN_SHAPES = {
    "circle": ("m", "Kreis", "Kreise", "Kreisen"),
    "square": ("n", "Quadrat", "Quadrate", "Quadraten"),
    "triangle": ("n", "Dreieck", "Dreiecke", "Dreiecken"),
    "diamond": ("f", "Raute", "Rauten", "Rauten"),
    "cross": ("n", "Kreuz", "Kreuze", "Kreuzen"),
    "ring": ("m", "Ring", "Ringe", "Ringen"),
}
# gender → article and ending of the adjective: as a subject, behind a preposition
GERMAN_SINGULAR = {
    "m": (("ein", "er"), ("einem", "en")),
    "n": (("ein", "es"), ("einem", "en")),
    "f": (("eine", "e"), ("einer", "en")),
}


@dataclass(frozen=True)
class CaptionWords:
    """A statement in words; `nouns` has the place of the noun of each group, as they are named."""

    words: tuple[str, ...]
    nouns: tuple[int, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def caption(statement: Statement, language: Language = "en") -> CaptionWords:
    """The one way in which a statement is said."""
    words, nouns = list[str](), list[int]()
    for number, group in enumerate(statement.groups):
        if number:
            joined = BETWEEN[language][statement.relation] if statement.relation else ""
            words += (joined if number == 1 else AND[language]).split()
        words += _phrase(group, language, behind=number > 0)
        nouns.append(len(words) - 1)
    return CaptionWords(tuple(words), tuple(nouns))


def _phrase(group: Group, language: Language, behind: bool) -> tuple[str, ...]:
    """Number, colour if there is one, shape; `behind` a preposition German has other endings."""
    number = NUMBERS[language][group.count - 2]
    if language == "en":
        plural = "es" if group.shape.endswith(HISSING) else "s"
        words = f"{group.colour} {group.shape}".split()
        if group.count == 1:
            return "an" if words[0][0] in VOWELS else "a", *words
        return number, *words[:-1], words[-1] + plural
    gender, single, *plurals = GERMAN_SHAPES[group.shape]
    colour = GERMAN_COLOURS[group.colour]
    if group.count == 1:
        article, ending = GERMAN_SINGULAR[gender][behind]
        return article, colour + ending, single
    return number, colour + ("en" if behind else "e"), plurals[behind]


@cache
def _phrases(language: Language, behind: bool) -> dict[tuple[str, ...], Group]:
    groups = (
        Group(count, colour, shape)
        for count, colour, shape in product(range(1, MOST + 1), COLOURS, SHAPES)
    )
    return {_phrase(group, language, behind): group for group in groups}


def statement_in(text: str, language: Language = "en") -> Statement | None:
    """What a caption says, in whatever order it names two groups; None if it is none of these."""
    words = text.split()
    between = {tuple(said.split()): name for name, said in BETWEEN[language].items()}
    first = _phrases(language, False).get(tuple(words[:3]))
    if first is None:
        return None
    if len(words) == 3:
        return Statement((first,))
    for said, relation in between.items():
        if tuple(words[3 : 3 + len(said)]) == said:
            others = _others(words[3 + len(said) :], language)
            return Statement((first, *others), relation) if others else None
    return None


def _others(words: Sequence[str], language: Language) -> tuple[Group, ...] | None:
    """One group behind the relation, or two with "and" between them."""
    known = _phrases(language, True)
    one = known.get(tuple(words[:3]))
    if one is None:
        return None
    if len(words) == 3:
        return (one,)
    other = known.get(tuple(words[4:]))
    return (one, other) if words[3] == AND[language] and other else None


def vocabulary(language: Language) -> frozenset[str]:
    """Every word that a caption may have."""
    phrases = (*_phrases(language, False), *_phrases(language, True))
    single = {word for phrase in phrases for word in phrase}
    return frozenset(single | {AND[language], *" ".join(BETWEEN[language].values()).split()})
