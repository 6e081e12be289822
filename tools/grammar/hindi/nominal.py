"""Hindi noun phrases: determiners, pronouns and postpositions, as tables one can check by hand.

A postposition takes the oblique (लड़के ने) and fuses with a pronoun (मुझे, उसने, मेरा).
"""

from __future__ import annotations

from dataclasses import replace

from grammar.fillers import COUNTERS, Filler, NounPhrase
from grammar.hindi.declension import (
    INNER,
    NEUTRAL,
    Features,
    adjective,
    decline,
    flagged,
    gender,
    inflect,
)
from grammar.tables import Lexeme
from regard.data.phrasebook.corpus import PhrasebookError

POSTPOSITIONS = {"ne": "ने", "ko": "को", "se": "से", "me": "में", "par": "पर", "tak": "तक"}
GENITIVES = {"ka": "का", "ke": "के", "ki": "की"}
RELATIONS = {
    "paas": "पास",
    "saath": "साथ",
    "liye": "लिए",
    "baare-me": "बारे में",
    "taraf": "तरफ़",
    "upar": "ऊपर",
    "niche": "नीचे",
    "andar": "अंदर",
    "peeche": "पीछे",
    "saamne": "सामने",
}
POSSESSIVES = {
    "my": "मेरा",
    "your": "आपका",
    "his": "उसका",
    "her": "उसका",
    "our": "हमारा",
    "their": "उनका",
    "its": "उसका",
}
COUNTS = {
    "two": "दो",
    "three": "तीन",
    "four": "चार",
    "five": "पाँच",
    "six": "छह",
    "seven": "सात",
    "eight": "आठ",
    "nine": "नौ",
    "ten": "दस",
    "twelve": "बारह",
    "some": "कुछ",
    "many": "बहुत-सा",
    "how-many": "कितना",
}
# direct, oblique, with ने, with को, with का
PERSONAL = {
    "I": ("मैं", "मुझ", "मैंने", "मुझे", "मेरा"),
    "you": ("आप", "आप", "आपने", "आपको", "आपका"),
    "he": ("वह", "उस", "उसने", "उसे", "उसका"),
    "she": ("वह", "उस", "उसने", "उसे", "उसका"),
    "we": ("हम", "हम", "हमने", "हमें", "हमारा"),
    "they": ("वे", "उन", "उन्होंने", "उन्हें", "उनका"),
    "who": ("कौन", "किस", "किसने", "किसे", "किसका"),
}
WHO = NounPhrase("who")
RELATIVE = {
    False: ("जो", "जिस", "जिसने", "जिसे", "जिसका"),
    True: ("जो", "जिन", "जिन्होंने", "जिन्हें", "जिनका"),
}


def features(phrase: NounPhrase) -> Features:
    """Gender, number and person; an honorific noun counts as plural, and so does आप."""
    if phrase.head is None:
        plural = phrase.word in ("you", "we", "they")
        return Features("f" if phrase.word == "she" else "m", plural, phrase.person)
    plural = phrase.plural or any(flagged(phrase.head, name) for name in ("honorific", "plural"))
    return Features(gender(phrase.head), plural)


def quality(lexeme: Lexeme, phrase: NounPhrase, oblique: bool = False) -> str:
    """An adjective that speaks of a phrase; `hi_animate` is the word for the living (बूढ़ा)."""
    word = lexeme.cell("hi_animate")
    living = phrase.head is None or phrase.definite_name or flagged(phrase.head, "animate")
    fitting = replace(lexeme, target=word) if word and living else lexeme
    return adjective(fitting, features(phrase), oblique)


def human(phrase: NounPhrase) -> bool:
    """Whether a phrase speaks of a person: a pronoun, or a noun that is he or she in English."""
    return phrase.head is None or phrase.head.flag("he") or phrase.head.flag("she")


def takes_ko(phrase: NounPhrase) -> bool:
    """Whether a direct object is marked: people always, animals when definite, things never."""
    if phrase.head is None or phrase.definite_name:
        return True
    indefinite = phrase.determiner in ("a", "no", "bare", "how-many", *COUNTERS)
    return flagged(phrase.head, "animate") and (human(phrase) or not indefinite)


def words(phrase: NounPhrase, oblique: bool) -> str:
    """Determiner, adjective and noun."""
    return " ".join(text for _, text in _inside(phrase, oblique))


def _inside(phrase: NounPhrase, oblique: bool) -> list[tuple[str, str]]:
    """What a phrase is made of, each with its part; "" is the noun."""
    assert phrase.head is not None
    if phrase.definite_name:
        return [("", phrase.head.target)]
    agree = features(phrase)
    attribute = ""
    if phrase.adjective is not None:
        degree = {"comp": "ज़्यादा ", "sup": "सबसे "}.get(phrase.degree, "")
        attribute = degree + quality(phrase.adjective, phrase, oblique)
    noun = decline(phrase.head, phrase.plural, oblique)
    parts = noun.split(" ")  # an adjective stands behind a genitive: चश्मे की नई डिब्बी
    place = max((i + 1 for i, part in enumerate(parts) if part in GENITIVES.values()), default=0)
    modifier, noun = " ".join(parts[:place]), " ".join(parts[place:])
    chosen = (
        ("determiner", _determiner(phrase, agree, oblique)),
        ("", modifier),
        ("adjective", attribute),
        ("", noun),
    )
    return [(part, text) for part, text in chosen if text]


def parts(phrase: NounPhrase, form: str, realised: list[str]) -> list[str]:
    """What each word of a realised phrase is in it; "" is its noun, name or pronoun."""
    kind = form.partition("-")[0]
    if kind in ("pron", "rel"):
        inside = ["relative" if kind == "rel" else "pronoun"]
    elif phrase.head is None or form == "who":
        inside = [""]
    else:
        phrase = replace(phrase, determiner="bare") if kind == "bare" else phrase
        inside = [part for part, text in _inside(phrase, True) for _ in text.split()]
    return inside + ["case"] * (len(realised) - len(inside))  # postpositions are behind it


def _determiner(phrase: NounPhrase, agree: Features, oblique: bool) -> str:
    assert phrase.head is not None
    word = phrase.determiner
    if word == "a":
        many = phrase.plural or flagged(phrase.head, "plural") or phrase.head.flag("mass")
        return "" if many else "एक"
    if word == "this":
        return {"00": "यह", "10": "ये", "01": "इस", "11": "इन"}[f"{agree.plural:d}{oblique:d}"]
    if word == "no":
        return "किसी" if oblique else "कोई"
    fixed = {"the": "", "bare": "", "every": "हर", "which": "कौन-सा", "own": "अपना"}
    determiners = {**fixed, **POSSESSIVES, **COUNTS}
    return inflect(determiners[word], agree, oblique)


def _own(phrase: NounPhrase, others: tuple[Filler, ...]) -> NounPhrase:
    """With अपना where the possessor is one of the others: अन्ना अपनी किताब पढ़ती है."""
    owners = (one.possessive for one in others if isinstance(one, NounPhrase))
    return replace(phrase, determiner="own") if phrase.determiner in owners else phrase


def _cased(phrase: NounPhrase, base: str, case: str, target: Features | None) -> str:
    """A phrase (base "") or its pronoun (`pron`) or relative pronoun (`rel`), in a case."""
    forms = None
    if base == "rel":
        forms = RELATIVE[features(phrase).plural]
    elif phrase.head is None:
        forms = PERSONAL[phrase.word]
    elif base == "pron":
        forms = PERSONAL["they" if features(phrase).plural else "he"]
    oblique = forms[1] if forms else words(phrase, True)
    if case == "":
        return forms[0] if forms else words(phrase, False)
    if case == "obl":
        return oblique
    if case in GENITIVES or case == "ka-obl":
        agree = {"ke": Features("m", True), "ki": Features("f")}.get(case, target or NEUTRAL)
        return inflect(forms[4] if forms else f"{oblique} का", agree, case == "ka-obl")
    if case == "jitna":
        return f"{oblique} {inflect('जितना', target or NEUTRAL)}"
    if case not in POSTPOSITIONS:
        raise PhrasebookError(f"Hindi has no noun form {case!r} ({phrase.word})")
    if forms and case in ("ne", "ko"):
        return forms[2 if case == "ne" else 3]
    blank = "" if forms and case in ("se", "me") else " "
    return oblique + blank + POSTPOSITIONS[case]


def noun_phrase(phrase: NounPhrase, form: str, agree: tuple[Filler, ...] = ()) -> str:
    """A noun phrase in one of the forms that grammar.py lists."""
    base, _, case = form.partition("-")
    if base not in ("pron", "rel", "bare"):
        base, case = "", form
    targeted = case in ("ka", "ka-obl", "jitna", "has", "pred")
    first = agree[0] if agree else None
    verb = next((one for one in agree if isinstance(one, Lexeme)), None)
    target = features(first) if targeted and isinstance(first, NounPhrase) else None
    phrase = _own(phrase, agree[1:] if targeted else agree)
    if case == "pred":  # a predicate shares the subject's respect: पिता अच्छे डॉक्टर हैं
        case = ""
        if isinstance(first, NounPhrase) and features(first).plural and not phrase.plural:
            phrase = with_respect(phrase)
    if base == "bare":
        phrase, base = replace(phrase, determiner="bare"), ""
    if case == "who":
        phrase, case = WHO, "ne"
    if case == "has":
        kin = isinstance(first, NounPhrase) and first.head is not None and _is_kin(first.head)
        return _cased(phrase, base, "ke", None) + ("" if kin else " पास")
    if case in ("subj", "ne") and verb is not None:
        wanted = "ne" if case == "ne" and flagged(verb, "ne") else ""
        case = "ko" if flagged(verb, "dative") else wanted
    elif case in ("subj", "obj"):
        case = "ko" if case == "obj" and takes_ko(phrase) else ""
    return _cased(phrase, base, case, target)


def with_respect(phrase: NounPhrase) -> NounPhrase:
    """The same phrase as an honorific one."""
    assert phrase.head is not None
    cells = {**phrase.head.cells, "hi_flags": phrase.head.cell("hi_flags") + " honorific"}
    return replace(phrase, head=replace(phrase.head, cells=cells))


def _is_kin(noun: Lexeme) -> bool:
    return any(name.startswith("kin") for name in noun.classes)


def governed(phrase: NounPhrase, verb: Lexeme, agree: tuple[Filler, ...] = ()) -> str:
    """An object as the verb's `hi_governs` cell wants it: से, पर, की (मदद करना), के साथ …"""
    case = verb.cell("hi_governs")
    if not case:
        return noun_phrase(phrase, "" if flagged(verb, "dative") else "obj", agree)
    phrase = _own(phrase, agree)
    if case == "ka":
        return _cased(phrase, "", "ka", INNER[verb.cell("hi_inner") or "m"])
    if case in POSTPOSITIONS or case in GENITIVES:
        return _cased(phrase, "", case, None)
    head, _, relation = case.replace("के ", "ke-").replace("की ", "ki-").partition("-")
    if head not in GENITIVES or not relation:
        raise PhrasebookError(f"{verb.where}, column hi_governs: got {case!r}")
    return f"{_cased(phrase, '', head, None)} {RELATIONS.get(relation, relation)}"
