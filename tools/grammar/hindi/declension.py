"""Hindi endings: how adjectives agree and nouns decline, as rules one can check by hand.

An adjective or possessive in -ा agrees (बड़ा, बड़े, बड़ी); a noun has a direct and an oblique form,
the oblique before a postposition (लड़का, लड़के ने; किताबें, किताबों में).
"""

from __future__ import annotations

from dataclasses import dataclass

from grammar.tables import Lexeme, names_in

_INNER_ADJECTIVES = ("का", "बड़ा", "छोटा", "पुराना", "नया")  # inflect inside a two-word noun
_VOWEL_SIGNS = "ािीुूेैोौआइईउऊएऐओऔ"


@dataclass(frozen=True)
class Features:
    """What a verb or adjective agrees with."""

    gender: str = "m"
    plural: bool = False
    person: int = 3


NEUTRAL = Features()
INNER = {"m": NEUTRAL, "f": Features("f"), "mp": Features("m", True), "fp": Features("f", True)}


def flagged(lexeme: Lexeme, name: str) -> bool:
    """Whether the blank-separated `hi_flags` cell holds this name."""
    return name in names_in(lexeme.cell("hi_flags"))


def gender(lexeme: Lexeme) -> str:
    """m or f: of a noun as the table says, of a name the sex of its bearer."""
    return lexeme.cell("hi_gender") or ("f" if lexeme.flag("she") else "m")


def inflect(word: str, agree: Features, oblique: bool = False) -> str:
    """An adjective or possessive in -ा: बड़ा, बड़े, बड़ी; नया, नए, नई; थका हुआ, थके हुए, थकी हुई."""
    before, blank, last = word.rpartition(" ")
    if blank:
        before = inflect(before, agree, oblique) if last == "हुआ" else before
        return before + blank + inflect(last, agree, oblique)
    if not word.endswith(("ा", "आ")) or (agree.gender == "m" and not (agree.plural or oblique)):
        return word
    stem, vowel = word[:-1], word[-1]
    if stem.endswith("य"):  # नया → नए, नई
        stem, vowel = stem[:-1], "आ"
    ending = ("े", "ए") if agree.gender == "m" else ("ी", "ई")
    return stem + ending[vowel == "आ"]


def adjective(lexeme: Lexeme, agree: Features, oblique: bool = False) -> str:
    """An adjective that agrees, unless the table calls it fixed."""
    word = lexeme.target
    return word if flagged(lexeme, "fixed") else inflect(word, agree, oblique)


def decline(noun: Lexeme, plural: bool, oblique: bool) -> str:
    """A noun in its number and case; of a two-word noun the last word (and का, बड़ा) changes."""
    before, blank, word = noun.target.rpartition(" ")
    agree = Features(gender(noun), plural)
    parts = [
        inflect(part, agree, oblique) if part in _INNER_ADJECTIVES else part
        for part in before.split(" ")
    ]
    if flagged(noun, "plural"):
        return " ".join(parts) + blank + (_plural_oblique(word) if oblique else word)
    if flagged(noun, "honorific") and not plural:
        oblique = True  # respect: बड़े भाई आए, like a plural; मामा, माँ do not change
        parts = [inflect(p, agree, True) if p in _INNER_ADJECTIVES else p for p in parts]
    rule = _feminine if gender(noun) == "f" else _masculine
    return " ".join(parts) + blank + rule(word, plural, oblique, flagged(noun, "fixed"))


def _masculine(word: str, plural: bool, oblique: bool, fixed: bool) -> str:
    """लड़का लड़के लड़के लड़कों · घर घर घर घरों · आदमी … आदमियों · राजा … राजाओं · कुआँ कुएँ … कुओं."""
    if fixed and not (plural and oblique):
        return word
    if word.endswith("आँ"):
        return _pick(plural, oblique, word, word[:-2] + "एँ", word[:-2] + "ओं")
    if word.endswith("या") and not fixed:
        return _pick(plural, oblique, word, word[:-2] + "ए", word[:-1] + "ों")
    if word.endswith(("ा", "आ")) and not fixed:
        independent = word.endswith("आ")
        few, many = ("ए", "ओं") if independent else ("े", "ों")
        return _pick(plural, oblique, word, word[:-1] + few, word[:-1] + many)
    return _oblique_plural(word) if plural and oblique else word


def _pick(plural: bool, oblique: bool, base: str, inflected: str, oblique_plural: str) -> str:
    if plural and oblique:
        return oblique_plural
    return inflected if plural or oblique else base


def _feminine(word: str, plural: bool, oblique: bool, fixed: bool) -> str:
    """लड़की लड़कियाँ लड़कियों · किताब किताबें किताबों · चिड़िया चिड़ियाँ चिड़ियों · भाषा भाषाएँ भाषाओं."""
    if not plural or fixed:
        return word
    if oblique:
        return _oblique_plural(word[:-1] if word.endswith("िया") else word)
    if word.endswith("िया"):
        return word + "ँ"
    if word.endswith(("ी", "ि", "ई", "इ")):
        return _shortened(word) + "याँ"
    if word.endswith("ँ"):
        return word[:-1] + "एँ"
    return _shortened(word) + ("एँ" if word[-1] in _VOWEL_SIGNS else "ें")


def _oblique_plural(word: str) -> str:
    """घरों, आदमियों, आलुओं, राजाओं; words in -े, -ो and -ँ (कैफ़े, रेडियो, रेस्तराँ) stay."""
    if word.endswith(("ी", "ि", "ई", "इ")):
        return _shortened(word) + "यों"
    if word.endswith(("े", "ए", "ो", "ओ", "ँ")):
        return word
    return _shortened(word) + ("ओं" if word[-1] in _VOWEL_SIGNS else "ों")


def _plural_oblique(word: str) -> str:
    """The oblique of a word that the table gives in the plural: कपड़े → कपड़ों, बाल → बालों."""
    for ending, oblique in (("ियाँ", "ियों"), ("ें", "ों"), ("एँ", "ओं"), ("े", "ों"), ("ए", "ओं")):
        if word.endswith(ending):
            return word[: -len(ending)] + oblique
    return _oblique_plural(word)


def _shortened(word: str) -> str:
    """The last vowel short: लड़की → लड़कि, दवाई → दवाइ, आलू → आलु."""
    return word[:-1] + {"ी": "ि", "ई": "इ", "ू": "ु", "ऊ": "उ"}.get(word[-1], word[-1])
