"""What can stand in a slot: a lexeme (verb, adjective, adverbial …) or a noun phrase."""

from __future__ import annotations

from dataclasses import dataclass

from grammar.tables import Lexeme

PRONOUNS = ("I", "you", "he", "she", "we", "they")
POSSESSIVES = ("my", "your", "his", "her", "our", "their")
NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
COUNTERS = (*NUMERALS, "many", "some")
DETERMINERS = (
    "the",
    "a",
    "this",
    "which",
    "every",
    "no",
    "bare",
    "how-many",
    *POSSESSIVES,
    *COUNTERS,
)


@dataclass(frozen=True)
class NounPhrase:
    """A pronoun, a name, or determiner + (adjective) + noun; case is chosen where it is used."""

    word: str  # pronoun, name or English lemma of the noun
    head: Lexeme | None = None  # None for a pronoun
    determiner: str = "bare"  # for names and pronouns: "bare"
    adjective: Lexeme | None = None
    plural: bool = False
    degree: str = ""  # of the adjective: "", "comp" or "sup"
    definite_name: bool = False  # a person's name: no article in either language

    @property
    def is_pronoun(self) -> bool:
        """Whether this is one of I, you, he, she, we, they."""
        return self.head is None

    @property
    def person(self) -> int:
        """Grammatical person: 1, 2 or 3."""
        if not self.is_pronoun:
            return 3
        return {"I": 1, "we": 1, "you": 2}.get(self.word, 3)

    @property
    def pronoun(self) -> str:
        """The English pronoun that refers back to this phrase."""
        if self.head is None:
            return self.word
        if self.plural:
            return "they"
        if self.head.flag("he"):
            return "he"
        return "she" if self.head.flag("she") else "it"

    @property
    def possessive(self) -> str:
        """The English possessive determiner that refers back to this phrase."""
        index = dict(zip(PRONOUNS, POSSESSIVES, strict=True))
        return index.get(self.pronoun, "its")

    @property
    def key(self) -> str:
        """Identity for hashing: stable across runs and processes."""
        adjective = self.adjective.key if self.adjective else ""
        head = self.head.key if self.head else self.word
        return f"{self.determiner}/{adjective}{self.degree}/{head}/{'pl' if self.plural else 'sg'}"


Filler = NounPhrase | Lexeme


def core(filler: Filler) -> str:
    """What two slots of one sentence must not share: the word itself, however determined."""
    if isinstance(filler, NounPhrase):
        return filler.head.key if filler.head else f"pronoun:{filler.word}"
    return filler.key
