"""German nouns, articles, adjective endings and pronouns, as tables one can check by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from grammar.fillers import COUNTERS, NounPhrase
from grammar.tables import Lexeme
from regard.data.phrasebook.corpus import PhrasebookError

CASES = ("nom", "acc", "dat", "gen")
# rows: masculine, feminine, neuter, plural; columns: nom acc dat gen
STRONG = {
    "m": ("er", "en", "em", "en"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "en"),
    "pl": ("e", "e", "en", "er"),
}
WEAK = {
    "m": ("e", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("e", "e", "en", "en"),
    "pl": ("en", "en", "en", "en"),
}
MIXED = {
    "m": ("er", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("es", "es", "en", "en"),
    "pl": ("en", "en", "en", "en"),
}
ARTICLE = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "pl": ("die", "die", "den", "der"),
}
RELATIVE = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "pl": ("die", "die", "denen", "deren"),
}
# endings of dies-, jed-
DEMONSTRATIVE = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "pl": ("e", "e", "en", "er"),
}
# endings of ein, kein, mein …
INDEFINITE = {
    "m": ("", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("", "", "em", "es"),
    "pl": ("e", "e", "en", "er"),
}
EIN_WORDS = {
    "a": "ein",
    "no": "kein",
    "my": "mein",
    "your": "dein",
    "his": "sein",
    "her": "ihr",
    "our": "unser",
    "their": "ihr",
    "its": "sein",
}
COUNTS = {
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
    "eight": "acht",
    "nine": "neun",
    "ten": "zehn",
    "twelve": "zwölf",
}
PERSONAL = {
    "I": ("ich", "mich", "mir"),
    "you": ("du", "dich", "dir"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "we": ("wir", "uns", "uns"),
    "they": ("sie", "sie", "ihnen"),
    "m": ("er", "ihn", "ihm"),
    "f": ("sie", "sie", "ihr"),
    "n": ("es", "es", "ihm"),
    "pl": ("sie", "sie", "ihnen"),
}
NO_CONTRACTION = "\x01"  # set after a relative pronoun: "in dem" stays, "in dem Haus" → "im Haus"


def umlaut(word: str) -> str:
    """Umlaut the last vowel that can take one: Baum → Bäum, Vater → Väter, Haus → Häus."""
    match = re.search(r"^(.*?)(au|a|o|u|A|O|U)([^aou]*)$", word)
    if not match:
        raise PhrasebookError(f"{word!r} has no vowel to umlaut")
    changed = {"au": "äu", "a": "ä", "o": "ö", "u": "ü", "A": "Ä", "O": "Ö", "U": "Ü"}[match[2]]
    return match[1] + changed + match[3]


def plural(noun: Lexeme) -> str:
    """The nominative plural, from the table's code: -e, "er, -n, - … or the full word."""
    code, word = noun.cell("de_plural"), noun.target
    if code.startswith("-"):
        return word + code[1:]
    if code.startswith('"'):
        return umlaut(word) + code[1:]
    if not code:
        raise PhrasebookError(f"{noun.where}, column plural: {word} has none, but it is used")
    return code


def decline(noun: Lexeme, case: str, is_plural: bool) -> str:
    """A noun in its case: weak -n/-en, genitive -s/-es, dative plural -n."""
    word = noun.target
    if is_plural:
        form = plural(noun)
        return form + "n" if case == "dat" and not re.search(r"[ns]$", form) else form
    for weak in ("n", "en"):
        if noun.flag(f"weak-{weak}") and case != "nom":
            return word + weak
    if case == "gen" and noun.cell("de_gender") != "f":
        short = "-" not in word and len(re.findall(r"[aeiouäöüy]+", word.lower())) == 1
        sibilant = bool(re.search(r"[sßxz]$", word))
        return word + ("es" if sibilant or (short and re.search(r"[dtbgkfm]$", word)) else "s")
    return word


def gender(phrase: NounPhrase) -> str:
    """m, f, n or pl; for a name, the sex of its bearer."""
    assert phrase.head is not None
    return "pl" if phrase.plural else phrase.head.cell("de_gender")


def adjective(lexeme: Lexeme, ending: str, degree: str = "") -> str:
    """An adjective with its ending: teuer → teuren, dunkel → dunklen, hoch → hohen, rosa."""
    stem = lexeme.target
    if degree:
        stem = grade(lexeme, degree)
    elif ending:
        if re.search(r"(el|[aä]uer|[eu]uer)$", stem) or stem == "teuer":
            stem = stem[:-2] + stem[-1]
        stem = "hoh" if stem == "hoch" else stem
    if stem.endswith("e") and ending.startswith("e"):
        stem = stem[:-1]
    return stem + ending


def grade(lexeme: Lexeme, degree: str) -> str:
    """Comparative (größer) or superlative stem (größt-); irregular ones stand in the table."""
    word, entry = lexeme.target, lexeme.cell("de_grade")
    if " " in entry:
        return entry.split()[0 if degree == "comp" else 1]
    stem = umlaut(word) if entry == '"' else word
    if degree == "comp":
        if re.search(r"(el|uer)$", stem):
            stem = stem[:-2] + stem[-1]
        return stem + ("r" if stem.endswith("e") else "er")
    return stem + ("est" if re.search(r"(d|t|s|ß|z|sch)$", stem) else "st")


def _ending(table: Mapping[str, tuple[str, ...]], which: str, case: str) -> str:
    return table[which][CASES.index(case)]


def determiner(phrase: NounPhrase, case: str) -> tuple[str, str]:
    """The determiner and the ending that an adjective after it takes."""
    assert phrase.head is not None
    word, which = phrase.determiner, gender(phrase)
    weak, mixed = _ending(WEAK, which, case), _ending(MIXED, which, case)
    strong = _ending(STRONG, which, case)
    if word == "the":
        return _ending(ARTICLE, which, case), weak
    if word in ("this", "every", "which"):
        stem = {"this": "dies", "every": "jed", "which": "welch"}[word]
        return stem + _ending(DEMONSTRATIVE, which, case), weak
    if word == "bare" or (word == "a" and (phrase.plural or phrase.head.flag("mass"))):
        return "", strong
    if word in COUNTERS or word == "how-many":
        stem = {"many": "viel", "some": "einig", "how-many": "wie viel"}.get(word, "")
        return (stem + strong if stem else COUNTS[word]), strong
    ending = _ending(INDEFINITE, which, case)
    stem = EIN_WORDS[word]
    return stem + ending, mixed


def noun_phrase(phrase: NounPhrase, form: str) -> str:
    """A noun phrase in a case, or as a pronoun.

    Forms: nom (also ""), acc, dat, gen; pron, pron-acc, pron-dat; rel, rel-acc, rel-dat;
    refl, refl-dat; kein (the accusative with kein).
    """
    kind, _, case = form.partition("-")
    if kind == "refl":
        return _reflexive(phrase, case or "acc")
    if kind == "pron" or phrase.head is None:
        which = gender(phrase) if phrase.head else phrase.word
        wanted = (case or "nom") if kind == "pron" else (form or "nom")
        return PERSONAL[which][CASES.index(wanted)]
    if kind == "rel":
        return _ending(RELATIVE, gender(phrase), case or "nom") + NO_CONTRACTION
    if form == "kein":
        phrase, form = replace(phrase, determiner="no"), "acc"
    case = form or "nom"
    if case not in CASES:
        raise PhrasebookError(f"German has no noun form {form!r}")
    if phrase.definite_name:
        return phrase.word + ("s" if case == "gen" else "")
    article, ending = determiner(phrase, case)
    quality = adjective(phrase.adjective, ending, phrase.degree) if phrase.adjective else ""
    assert phrase.head is not None
    words = (article, quality, decline(phrase.head, case, phrase.plural))
    return " ".join(word for word in words if word)


def parts(phrase: NounPhrase, form: str, words: list[str]) -> list[str]:
    """What each word of a realised phrase is in it; "" is its noun, name or pronoun."""
    kind = form.partition("-")[0]
    if kind in ("pron", "refl", "rel"):
        inside = ["relative" if kind == "rel" else "pronoun"]
    elif phrase.head is None or phrase.definite_name:
        inside = [""] * len(phrase.word.split())
    else:
        article = "kein" if form == "kein" else determiner(phrase, "nom")[0]
        inside = ["determiner"] * len(article.split())
        inside += ["adjective"] * (phrase.adjective is not None)
        inside += [""] * len(phrase.head.target.split())
    return ["case"] * (len(words) - len(inside)) + inside  # the verb's preposition is before it


def _reflexive(phrase: NounPhrase, case: str) -> str:
    if phrase.person == 3:
        return "sich"
    return PERSONAL[phrase.word][CASES.index(case)]
