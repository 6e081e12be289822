"""English morphology: a filler and a form in, words out; `finish` polishes a whole sentence."""

from __future__ import annotations

import re

from grammar.fillers import PRONOUNS, Filler, NounPhrase
from grammar.tables import Lexeme
from regard.data.phrasebook.corpus import PhrasebookError

OBJECTS = dict(zip((*PRONOUNS, "it"), ("me", "you", "him", "her", "us", "them", "it"), strict=True))
SELVES = {
    "I": "myself",
    "you": "yourself",
    "he": "himself",
    "she": "herself",
    "we": "ourselves",
    "they": "themselves",
    "it": "itself",
}
_VOWELS = "aeiou"
_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU]|hour\b|honest)(?!uni|use|usu|euro|one\b|Uni|Euro)")


def plural(noun: Lexeme) -> str:
    """The plural of a noun: as the table says, else by rule."""
    word = noun.en
    if noun.cell("en_plural"):
        return noun.cell("en_plural")
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + "s"


def _doubles(word: str) -> bool:
    """Whether a short verb or adjective doubles its last consonant (sit, big; not: eat, slow)."""
    return bool(re.search(r"^[^aeiou]*[aeiou][bdgmnprt]$", word))


def third(base: str) -> str:
    """Third person singular: goes, watches, tries, eats."""
    if base in ("be", "have"):
        return {"be": "is", "have": "has"}[base]
    if re.search(r"(s|x|z|ch|sh|[^aeiou]o)$", base) or base == "go":
        return base + "es"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ies"
    return base + "s"


def ing(base: str) -> str:
    """The -ing form: making, lying, sitting, seeing."""
    if base == "be":
        return "being"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not re.search(r"(ee|oe|ye)$", base):
        return base[:-1] + "ing"
    return base + base[-1] + "ing" if _doubles(base) or base == "forget" else base + "ing"


def regular_past(base: str) -> str:
    """The regular past: played, tried, stopped, liked."""
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return base + base[-1] + "ed" if _doubles(base) else base + "ed"


def grade(adjective: Lexeme, superlative: bool) -> str:
    """Comparative or superlative: as the table says (`more`, or both forms), else -er/-est."""
    word, entry = adjective.en, adjective.cell("en_grade")
    if entry == "more":
        return ("most " if superlative else "more ") + word
    if entry:
        return entry.split()[int(superlative)]
    stem = word[:-1] if word.endswith("e") else word
    if re.search(r"[^aeiou]y$", word):
        stem = word[:-1] + "i"
    elif _doubles(word):
        stem = word + word[-1]
    return stem + ("est" if superlative else "er")


def noun_phrase(phrase: NounPhrase, form: str) -> str:
    """A noun phrase in one of its forms."""
    if form == "self":
        return SELVES[phrase.pronoun]
    if form == "poss":
        return phrase.possessive
    if form == "pron":
        return phrase.pronoun
    if form == "pron-obj" or (form == "obj" and phrase.is_pronoun):
        return OBJECTS[phrase.pronoun]
    if phrase.head is None:
        return phrase.word
    if form == "bare":
        return plural(phrase.head) if phrase.plural else phrase.head.en
    if form not in ("", "obj", "gen"):
        raise PhrasebookError(f"English has no noun form {form!r}")
    if phrase.definite_name:
        return phrase.word + ("'s" if form == "gen" else "")
    noun = plural(phrase.head) if phrase.plural else phrase.head.en
    words = [_determiner(phrase), _quality(phrase), noun]
    text = " ".join(word for word in words if word)
    return text + ("'s" if form == "gen" else "")


def _quality(phrase: NounPhrase) -> str:
    if phrase.adjective is None:
        return ""
    return grade(phrase.adjective, phrase.degree == "sup") if phrase.degree else phrase.adjective.en


def _determiner(phrase: NounPhrase) -> str:
    word = phrase.determiner
    assert phrase.head is not None
    if word == "bare" or (word == "a" and (phrase.plural or phrase.head.flag("mass"))):
        return ""
    if word == "this" and phrase.plural:
        return "these"
    return "how many" if word == "how-many" else word


def verb(lexeme: Lexeme, form: str, agree: NounPhrase | None) -> str:
    """A verb (phrase): its head inflected, its tail with "one's" and "oneself" filled in."""
    base, _, tail = lexeme.en.partition(" ")
    past = lexeme.cell("en_past") or regular_past(base)
    head = {
        "base": base,
        "past": past,
        "pp": lexeme.cell("en_pp") or past,
        "ing": ing(base),
        "": base,
    }.get(form)
    if head is None:
        raise PhrasebookError(f"English has no verb form {form!r} ({lexeme.en})")
    if form == "" and agree is not None:
        head = _present(base, agree)
    if form == "past" and base == "be" and agree is not None:
        head = "were" if agree.plural or agree.person == 2 else "was"
    if "one" in tail and agree is not None:
        tail = tail.replace("oneself", SELVES[agree.pronoun]).replace("one's", agree.possessive)
    return f"{head} {tail}".strip()


def _present(base: str, agree: NounPhrase) -> str:
    singular = agree.person == 3 and not agree.plural
    if base == "be":
        return "am" if agree.word == "I" and agree.is_pronoun else "is" if singular else "are"
    return third(base) if singular else base


def realise(filler: Filler, form: str, agree: NounPhrase | None) -> str:
    """Any filler in any form."""
    if isinstance(filler, NounPhrase):
        return noun_phrase(filler, form)
    if filler.kind == "verb":
        return verb(filler, form, agree)
    if filler.kind == "adj" and form in ("comp", "sup"):
        return grade(filler, form == "sup")
    return filler.en


def parts(filler: Filler, form: str, words: list[str]) -> list[str]:
    """What each word of a realised filler is in it; "" is the noun, name, pronoun or verb."""
    if isinstance(filler, Lexeme):
        return ["", *["rest" if filler.kind == "verb" else ""] * (len(words) - 1)]
    if form in ("poss", "pron", "pron-obj", "self"):
        return ["possessive" if form == "poss" else "pronoun"]
    if filler.head is None or filler.definite_name:
        return [""] * len(words)
    nouns = len(filler.head.en.split())
    qualities = 0 if form == "bare" else len(_quality(filler).split())
    determiners = len(words) - qualities - nouns
    return ["determiner"] * determiners + ["adjective"] * qualities + [""] * nouns


def controller(filler: Filler, form: str, agree: tuple[Filler, ...]) -> Filler | None:
    """A verb agrees with its subject (which of its words do, word_classes.py says)."""
    return agree[0] if isinstance(filler, Lexeme) and agree else None


def finish(text: str) -> str:
    """One sentence, polished: a/an, single blanks, capitals, no blank before punctuation."""
    text = " ".join(text.split())
    text = re.sub(r" ([,.!?:;])", r"\1", text)
    text = _AN.sub(r"\1n ", text)
    return re.sub(r"(^|[.!?] )([a-z])", lambda match: match[1] + match[2].upper(), text)
