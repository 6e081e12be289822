"""What a caption asks for: it may leave colours out, and name two groups in either order.

    a blue square below two red circles      of the picture that `words.py` calls
                                             "two red circles above a blue square"
    two red circles above a square           a square of any colour

A picture has one caption, but of one caption there are many pictures. Here is which of them it
asks for.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from regard.data.scenes.drawing import COLOURS, SHAPES
from regard.data.scenes.statement import MOST, Group, Relation, Statement
from regard.data.scenes.words import AND, BETWEEN, Language, caption

OPPOSITE: dict[Relation, Relation] = {
    "above": "below",
    "below": "above",
    "left of": "right of",
    "right of": "left of",
}


@dataclass(frozen=True)
class AskedGroup:
    """So many things of one shape, and of one colour, whichever it is if it is None."""

    count: int
    colour: str | None
    shape: str

    def fits(self, group: Group) -> bool:
        """Whether these things would do."""
        is_colour = self.colour in (None, group.colour)
        return is_colour and (group.count, group.shape) == (self.count, self.shape)


@dataclass(frozen=True)
class AskedScene:
    """What is to be drawn."""

    groups: tuple[AskedGroup, ...]
    relation: Relation | None = None

    def is_shown(self, statement: Statement | None) -> bool:
        """Whether a picture of which this can be said is what was asked for."""
        return statement is not None and any(self._fits(way) for way in ways_of(statement))

    def _fits(self, way: Statement) -> bool:
        if way.relation != self.relation or len(way.groups) != len(self.groups):
            return False
        return all(a.fits(g) for a, g in zip(self.groups, way.groups, strict=True))


def ways_of(statement: Statement) -> Iterator[Statement]:
    """A statement, and of two groups what it is seen from the other one."""
    yield statement
    if len(statement.groups) == 2 and statement.relation is not None:
        yield Statement(statement.groups[::-1], OPPOSITE[statement.relation])


def asked_by_chance(
    statement: Statement, language: Language, chance: random.Random, unsaid: float
) -> str:
    """One of the captions that ask for it; of each group the colour is left out at times."""
    way = chance.choice(list(ways_of(statement)))
    said = caption(way, language)
    left_out = {noun - 1 for noun in said.nouns if chance.random() < unsaid}
    return " ".join(word for place, word in enumerate(said.words) if place not in left_out)


@cache
def _phrases(language: Language, behind: bool) -> dict[tuple[str, ...], AskedGroup]:
    """Number, colour or none, shape, in the form that it has at the beginning or behind."""
    phrases: dict[tuple[str, ...], AskedGroup] = {}
    other = Group(1, "red", "ring")
    for count, colour, shape in product(range(1, MOST + 1), COLOURS, SHAPES):
        group = Group(count, colour, shape)
        said = caption(
            Statement((other, group), "above") if behind else Statement((group,)), language
        )
        words = said.words[-3:]
        phrases[words] = AskedGroup(count, colour, shape)
        phrases[words[0], words[2]] = AskedGroup(count, None, shape)
    return phrases


def asked_in(text: str, language: Language = "en") -> AskedScene | None:
    """What a caption asks for; None if it is none of these."""
    words = tuple(text.split())
    first = _phrases(language, behind=False)
    if words in first:
        return AskedScene((first[words],))
    for relation, said in BETWEEN[language].items():
        between = tuple(said.split())
        for start in (2, 3):
            end = start + len(between)
            if words[start:end] == between and words[:start] in first:
                others = _others(words[end:], language)
                return (
                    None
                    if others is None
                    else AskedScene((first[words[:start]], *others), relation)
                )
    return None


def _others(words: tuple[str, ...], language: Language) -> tuple[AskedGroup, ...] | None:
    """One group behind the relation, or two with "and" between them."""
    phrases = _phrases(language, behind=True)
    if words in phrases:
        return (phrases[words],)
    if AND[language] not in words:
        return None
    place = words.index(AND[language])
    parts = words[:place], words[place + 1 :]
    if not all(part in phrases for part in parts):
        return None
    return phrases[parts[0]], phrases[parts[1]]
