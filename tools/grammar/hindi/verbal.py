"""Hindi verbs: an infinitive in, any finite or infinite form out.

The `hi` cell is an infinitive with what hangs on it before it ("मदद करना").  Perfective tenses of
a verb flagged `ne` agree with the unmarked object, or with the noun inside the phrase
(`hi_inner`), else they are masculine singular; everything else agrees with the subject.

Further flags: `dative` (subject with को: ज़रूरत होना, मिलना), `stative` (X होना with present है),
`state` (the progressive is a state: बैठा हुआ है), `adj` (the word before होना agrees: खड़ी हुई),
`+jaana` `+dena` `+lena` (perfective with a second verb: भूल गया, खो दिया).
"""

from __future__ import annotations

from dataclasses import replace

from grammar.fillers import Filler, NounPhrase
from grammar.hindi.declension import INNER, NEUTRAL, Features, flagged, inflect
from grammar.hindi.nominal import WHO, features, governed, takes_ko, with_respect
from grammar.tables import Lexeme
from regard.data.phrasebook.corpus import PhrasebookError

PERFECTIVE = ("perf", "past", "past-perf", "pp")
# form → what the verb contributes, the verb that follows, and that verb's form
COMPOUND = {
    "can": ("stem", "सकना", "pres"),
    "can-past": ("stem", "सकना", "past-hab"),
    "can-fut": ("stem", "सकना", "fut"),
    "could": ("stem", "सकना", "past"),
    "chuk": ("stem", "चुकना", "perf"),
    "chuk-past": ("stem", "चुकना", "past-perf"),
    "want": ("inf", "चाहना", "pres"),
    "want-past": ("inf", "चाहना", "past-hab"),
    "want-fut": ("inf", "चाहना", "fut"),
    "start": ("obl", "लगना", "past"),
    "start-cont": ("obl", "लगना", "perf"),
    "must": ("inf-agree", "होना", "pres"),
    "must-past": ("inf-agree", "होना", "past"),
    "haveto": ("inf-agree", "पड़ना", "pres"),
    "hadto": ("inf-agree", "पड़ना", "past"),
    "will-have-to": ("inf-agree", "पड़ना", "fut"),
    "should": ("inf-agree", "चाहिए", "pres"),
    "should-past": ("inf-agree", "चाहिए", "past"),
    "pass": ("pp-agree", "जाना", "pres"),
    "pass-cont": ("pp-agree", "जाना", "cont"),
    "pass-past": ("pp-agree", "जाना", "past"),
    "pass-perf": ("pp-agree", "जाना", "perf"),
    "pass-fut": ("pp-agree", "जाना", "fut"),
    "pass-must": ("pp-agree", "जाना", "must"),
    "pass-should": ("pp-agree", "जाना", "should"),
    "pass-can": ("pp-agree", "जाना", "can"),
}
OBLIGATION = ("must", "must-past", "haveto", "hadto", "will-have-to", "should", "should-past")
FEMININE_TITLES = ("मैडम", "श्रीमती")
VECTORS = {"+jaana": "जाना", "+dena": "देना", "+lena": "लेना"}
INVARIABLE = ("imp", "inf", "obl", "stem", "kar", "te", "bina", "inner", "whom")
NOT = "not"  # the part that नहीं is in a verb
_WITH_NA = ("imp", "subj", "inf", "obl", "te", "kar", "stem", "bina")  # negated with न
_LONG = "ाीूेोआईऊएओ"
_INDEPENDENT = {"ा": "आ", "े": "ए", "ी": "ई", "ू": "ऊ", "ि": "इ"}
_PERFECTIVE = {
    "कर": ("किया", "किए", "की"),
    "दे": ("दिया", "दिए", "दी"),
    "ले": ("लिया", "लिए", "ली"),
    "जा": ("गया", "गए", "गई"),
    "हो": ("हुआ", "हुए", "हुई"),
}
# first person, singular, plural
_SUBJUNCTIVE = {
    "दे": ("दूँ", "दे", "दें"),
    "ले": ("लूँ", "ले", "लें"),
    "हो": ("होऊँ", "हो", "हों"),
}
_POLITE = {"कर": "कीजिए", "दे": "दीजिए", "ले": "लीजिए", "पी": "पीजिए"}


def split(verb: Lexeme) -> tuple[str, str]:
    """What hangs on a verb, and its infinitive."""
    inner, _, head = verb.target.rpartition(" ")
    if not head.endswith("ना") and head != "चाहिए":
        raise PhrasebookError(f"{verb.where}, column hi: {verb.target!r} is no infinitive in -ना")
    return inner, head


def _join(stem: str, ending: str) -> str:
    """Stem and ending: बैठ + े → बैठे, खा + े → खाए, पी + े → पिए, छू + े → छुए."""
    if stem[-1] not in _LONG:
        return stem + ending
    short = {"ी": "ि", "ू": "ु"}.get(stem[-1], stem[-1])
    return stem[:-1] + short + _INDEPENDENT.get(ending[0], ending[0]) + ending[1:]


def perfective(infinitive: str, agree: Features, final: bool = False) -> str:
    """The perfective participle; `final` (no auxiliary after it) nasalises the feminine plural."""
    stem = infinitive[:-2]
    if stem in _PERFECTIVE:
        one, many, feminine = _PERFECTIVE[stem]
    else:
        glide = stem[-1] in _LONG and stem[-1] not in "ूऊ"
        one = _join(stem, "ा")[:-1] + "या" if glide else _join(stem, "ा")
        many = _join(stem, "े")
        feminine = stem if stem.endswith("ी") else _join(stem, "ी")
    if agree.gender == "f":
        return feminine + ("ं" if final and agree.plural else "")
    return many if agree.plural else one


def subjunctive(infinitive: str, agree: Features) -> str:
    """खाऊँ, खाए, खाएँ · बैठूँ, बैठे, बैठें."""
    stem = infinitive[:-2]
    first, one, many = _SUBJUNCTIVE.get(stem) or (
        _join(stem, "ूँ"),
        _join(stem, "े"),
        _join(stem, "े") + ("ँ" if stem[-1] in _LONG else "ं"),
    )
    if agree.plural:
        return many
    return first if agree.person == 1 else one


def copula(tense: str, agree: Features) -> str:
    """है, हैं, हूँ; था, थे, थी, थीं."""
    if tense == "past":
        return inflect("था", agree) + ("ं" if agree.gender == "f" and agree.plural else "")
    if agree.plural:
        return "हैं"
    return "हूँ" if agree.person == 1 else "है"


def finite(infinitive: str, form: str, agree: Features) -> str:
    """A simple tense, or the participle in its place."""
    stem = infinitive[:-2]
    if infinitive == "चाहिए":
        later = {"past": copula("past", agree), "fut": finite("होना", "fut", agree)}
        return f"चाहिए {later.get(form, '')}".strip()
    if form in ("pres", "past-hab"):
        return f"{inflect(stem + 'ता', agree)} {copula(form.split('-')[0], agree)}"
    if form in ("cont", "cont-past"):
        return f"{stem} {inflect('रहा', agree)} {copula(form.partition('-')[2], agree)}"
    if form in ("perf", "past-perf"):
        return f"{perfective(infinitive, agree)} {copula(form.split('-')[0], agree)}"
    if form == "cond":
        return inflect(stem + "ता", agree) + ("ं" if agree == INNER["fp"] else "")
    if form == "fut":
        return subjunctive(infinitive, agree) + inflect("गा", agree)
    if form in COMPOUND:
        part, helper, tense = COMPOUND[form]
        return f"{_part(infinitive, part, agree)} {_simple(helper, tense, agree)}"
    simple = {
        "past": perfective(infinitive, agree, final=True),
        "pp": perfective(infinitive, agree),
        "subj": subjunctive(infinitive, agree),
        "imp": _POLITE.get(stem) or _join(stem, "िए"),
        "kar": "करके" if stem == "कर" else stem + "कर",
        "te": stem + "ते",
        "bina": perfective(infinitive, INNER["mp"]),
    }
    if form in simple:
        return simple[form]
    return _part(infinitive, form, agree)


def _simple(infinitive: str, form: str, agree: Features) -> str:
    return stative(form, agree) if infinitive == "होना" else finite(infinitive, form, agree)


def _part(infinitive: str, form: str, agree: Features) -> str:
    parts = {
        "inf": infinitive,
        "obl": infinitive[:-1] + "े",
        "stem": infinitive[:-2],
        "inf-agree": inflect(infinitive, agree),
        "pp-agree": perfective(infinitive, agree),
    }
    if form not in parts:
        raise PhrasebookError(f"Hindi has no verb form {form!r} ({infinitive})")
    return parts[form]


def stative(form: str, agree: Features) -> str:
    """होना as a copula: है, था, होगा; `hab` is होता है and `became` हुआ."""
    if form in ("pres", "cont"):
        return copula("pres", agree)
    if form in ("past", "past-hab", "cont-past", "perf", "past-perf"):
        return copula("past", agree)
    other = {"hab": "pres", "became": "past", "has-become": "perf"}.get(form, form)
    return finite("होना", other, agree)


def _controller(verb: Lexeme, form: str, agree: tuple[Filler, ...]) -> NounPhrase | Features:
    """What a form agrees with: subject, unmarked object, inner noun or nothing."""
    phrases = [one for one in agree if isinstance(one, NounPhrase)]
    passive = form.startswith("pass")
    by_object = form in OBLIGATION or form == "inf-agree" or flagged(verb, "dative")
    if not (passive or by_object or (form in PERFECTIVE and flagged(verb, "ne"))):
        return phrases[0] if phrases else NEUTRAL
    if verb.cell("hi_inner"):
        return INNER[verb.cell("hi_inner")]
    patients = phrases if passive or form == "inf-agree" else phrases[1:]
    if not patients or verb.cell("hi_governs"):
        return NEUTRAL
    unmarked = passive or flagged(verb, "dative") or not takes_ko(patients[0])
    return patients[0] if unmarked else NEUTRAL


def controller(verb: Lexeme, form: str, agree: tuple[Filler, ...]) -> NounPhrase | None:
    """The phrase that a realised form agrees with."""
    form, agree, _ = _plain(form.removeprefix("head-"), agree)
    phrase = None if form in INVARIABLE else _controller(verb, form, agree)
    return phrase if isinstance(phrase, NounPhrase) else None


def parts(verb: Lexeme, form: str, words: list[str]) -> list[str]:
    """What each word of a realised verb is in it: the verb "", or what hangs on it, or a नहीं."""
    hanging = 0 if form.startswith("head-") else len(split(verb)[0].split())
    inside = ["rest" if place < hanging else "" for place in range(len(words))]
    return [NOT if word in ("नहीं", "न") else part for word, part in zip(words, inside, strict=True)]


def _plain(form: str, agree: tuple[Filler, ...]) -> tuple[str, tuple[Filler, ...], bool]:
    """A form without what it says of the subject and of the negative, which is told apart."""
    if form.startswith("who-"):
        form, agree = form.removeprefix("who-"), (WHO, *agree)
    if form.startswith("polite-"):
        form, agree = form.removeprefix("polite-"), (_addressed(agree),)
    return form.removesuffix("not").removesuffix("-") or "pres", agree, form.endswith("not")


def realise(verb: Lexeme, form: str, agree: tuple[Filler, ...] = ()) -> str:
    """Any form of a verb with everything that hangs on it; `-not` puts नहीं (न) before the verb."""
    inner, head = split(verb)
    if form in ("inner", "whom"):
        return inner if form == "inner" else governed(WHO, verb)
    if form.startswith("head-"):
        inner, form = "", form.removeprefix("head-")
    form, agree, negative = _plain(form, agree)
    phrase = _controller(verb, form, agree)
    wanted = features(phrase) if isinstance(phrase, NounPhrase) else phrase
    is_stative = head == "होना" and (
        not inner or flagged(verb, "dative") or flagged(verb, "stative")
    )
    if flagged(verb, "adj") and inner:
        inner = inflect(inner, wanted)
    if flagged(verb, "state") and form in ("cont", "cont-past"):
        text = _state(verb, head, form, wanted)
    elif is_stative:
        text = stative(form, wanted)
    else:
        vector = next((VECTORS[v] for v in VECTORS if flagged(verb, v)), "")
        if vector and form in PERFECTIVE and not negative:
            inner, head = f"{inner} {head[:-2]}".strip(), vector
        text = finite(head, form, wanted)
    if negative:
        text = ("न " if form in _WITH_NA else "नहीं ") + text
        if inner.split(" ")[-1] == "ले":  # ले जाना, ले आना are one verb: नहीं ले जाता है
            before, blank, _ = inner.rpartition(" ")
            marker, _, rest = text.partition(" ")
            return f"{before}{blank}{marker} ले {rest}"
    return f"{inner} {text}".strip()


def _addressed(agree: tuple[Filler, ...]) -> NounPhrase:
    """The person spoken to with आप; a woman's name or title makes the verb feminine."""
    person = agree[0] if agree else None
    if isinstance(person, NounPhrase):
        return person if person.head is None else with_respect(person)
    if person is not None and person.target.startswith(FEMININE_TITLES):
        return with_respect(NounPhrase("she", replace(person, cells={"hi_gender": "f"})))
    return NounPhrase("you")


def _state(verb: Lexeme, head: str, form: str, agree: Features) -> str:
    """The progressive of a posture: बैठा हुआ है, खड़ी है, (कोट) पहने हुए है."""
    be = copula(form.partition("-")[2], agree)
    if head == "होना":
        return be
    if flagged(verb, "ne"):
        return f"{perfective(head, INNER['mp'])} हुए {be}"
    return f"{perfective(head, agree)} {inflect('हुआ', agree)} {be}"
