"""Hindi verbs against paradigms written out by hand: participles, tenses, who agrees with what."""

from __future__ import annotations

import pytest
from grammar.fillers import NounPhrase
from grammar.hindi.declension import INNER, Features
from grammar.hindi.verbal import finite, perfective, realise, subjunctive
from grammar.tables import Lexeme

from regard.data.phrasebook.corpus import PhrasebookError


def verb(hi: str, hi_flags: str = "", governs: str = "", inner: str = "") -> Lexeme:
    cells = {"hi_flags": hi_flags, "hi_governs": governs, "hi_inner": inner}
    return Lexeme("verb", hi, hi, frozenset({"v"}), cells)


def noun(hi: str, gender: str, hi_flags: str = "", plural: bool = False) -> NounPhrase:
    cells = {"hi_gender": gender, "hi_flags": hi_flags}
    return NounPhrase(hi, Lexeme("noun", hi, hi, frozenset({"n"}), cells), "the", plural=plural)


ME, YOU, HE, SHE, WE = (NounPhrase(word) for word in ("I", "you", "he", "she", "we"))
MOTHER = noun("माँ", "f", "honorific animate")
BOOK, BOOKS, CAT = (
    noun("किताब", "f"),
    noun("किताब", "f", plural=True),
    noun("बिल्ली", "f", "animate"),
)
EAT, SEE, HELP = verb("खाना", "ne"), verb("देखना", "ne"), verb("मदद करना", "ne", "ki", "f")
GO, BE = verb("जाना"), verb("होना")


@pytest.mark.parametrize(
    ("infinitive", "forms"),  # masculine singular and plural, feminine singular and plural
    [
        ("खाना", "खाया खाए खाई खाईं"),
        ("पीना", "पिया पिए पी पीं"),
        ("करना", "किया किए की कीं"),
        ("देना", "दिया दिए दी दीं"),
        ("लेना", "लिया लिए ली लीं"),
        ("जाना", "गया गए गई गईं"),
        ("होना", "हुआ हुए हुई हुईं"),
        ("सोना", "सोया सोए सोई सोईं"),
        ("आना", "आया आए आई आईं"),
        ("छूना", "छुआ छुए छुई छुईं"),
        ("बैठना", "बैठा बैठे बैठी बैठीं"),
        ("पढ़ना", "पढ़ा पढ़े पढ़ी पढ़ीं"),
    ],
)
def test_perfective(infinitive: str, forms: str) -> None:
    agree = (INNER["m"], INNER["mp"], INNER["f"], INNER["fp"])
    assert " ".join(perfective(infinitive, one, final=True) for one in agree) == forms


@pytest.mark.parametrize(
    ("infinitive", "forms"),  # मैं, वह, वे; then the polite imperative
    [
        ("खाना", "खाऊँ खाए खाएँ खाइए"),
        ("बैठना", "बैठूँ बैठे बैठें बैठिए"),
        ("पीना", "पिऊँ पिए पिएँ पीजिए"),
        ("करना", "करूँ करे करें कीजिए"),
        ("देना", "दूँ दे दें दीजिए"),
        ("लेना", "लूँ ले लें लीजिए"),
        ("जाना", "जाऊँ जाए जाएँ जाइए"),
        ("सोना", "सोऊँ सोए सोएँ सोइए"),
        ("होना", "होऊँ हो हों होइए"),
    ],
)
def test_subjunctive_and_imperative(infinitive: str, forms: str) -> None:
    agree = (Features(person=1), Features(), Features(plural=True))
    found = [subjunctive(infinitive, one) for one in agree]
    assert " ".join((*found, finite(infinitive, "imp", Features()))) == forms


@pytest.mark.parametrize(
    ("form", "row"),  # मैं, आप, she, माँ
    [
        ("", "जाता हूँ | जाते हैं | जाती है | जाती हैं"),
        ("past-hab", "जाता था | जाते थे | जाती थी | जाती थीं"),
        ("cont", "जा रहा हूँ | जा रहे हैं | जा रही है | जा रही हैं"),
        ("cont-past", "जा रहा था | जा रहे थे | जा रही थी | जा रही थीं"),
        ("perf", "गया हूँ | गए हैं | गई है | गई हैं"),
        ("past", "गया | गए | गई | गईं"),
        ("past-perf", "गया था | गए थे | गई थी | गई थीं"),
        ("fut", "जाऊँगा | जाएँगे | जाएगी | जाएँगी"),
        ("can", "जा सकता हूँ | जा सकते हैं | जा सकती है | जा सकती हैं"),
        ("could-not", "नहीं जा सका | नहीं जा सके | नहीं जा सकी | नहीं जा सकीं"),
        ("want-past", "जाना चाहता था | जाना चाहते थे | जाना चाहती थी | जाना चाहती थीं"),
        ("chuk", "जा चुका हूँ | जा चुके हैं | जा चुकी है | जा चुकी हैं"),
        ("must", "जाना है | जाना है | जाना है | जाना है"),
        ("should-not", "नहीं जाना चाहिए | नहीं जाना चाहिए | नहीं जाना चाहिए | नहीं जाना चाहिए"),
    ],
)
def test_tenses(form: str, row: str) -> None:
    assert " | ".join(realise(GO, form, (one,)) for one in (ME, YOU, SHE, MOTHER)) == row


def test_the_perfective_of_a_transitive_verb_agrees_with_the_unmarked_object() -> None:
    assert realise(SEE, "past", (HE, BOOK)) == "देखी"
    assert realise(SEE, "past", (HE, BOOKS)) == "देखीं"
    assert realise(SEE, "perf", (HE, BOOKS)) == "देखी हैं"
    assert realise(SEE, "past", (SHE, CAT)) == "देखा"  # बिल्ली को देखा
    assert realise(SEE, "past", (SHE, HE)) == "देखा"
    assert realise(SEE, "fut", (HE, BOOK)) == "देखेगा"
    assert realise(verb("लाना"), "past", (HE, BOOK)) == "लाया"  # takes no ने


def test_obligation_agrees_with_the_object() -> None:
    assert realise(SEE, "must", (HE, BOOK)) == "देखनी है"
    assert realise(SEE, "hadto", (HE, BOOKS)) == "देखनी पड़ीं"
    assert realise(SEE, "must", (SHE, CAT)) == "देखना है"
    assert realise(verb("कपड़े धोना", "ne", "", "mp"), "haveto", (SHE,)) == "कपड़े धोने पड़ते हैं"


def test_the_inner_noun() -> None:
    assert realise(HELP, "past", (HE, CAT)) == "मदद की"
    assert realise(HELP, "must", (HE, CAT)) == "मदद करनी है"
    assert realise(HELP, "not", (HE,)) == "मदद नहीं करता है"
    assert realise(HELP, "imp-not") == "मदद न कीजिए"
    assert realise(HELP, "kar") == "मदद करके"
    assert realise(HELP, "obl") == "मदद करने"
    assert realise(verb("साथ ले जाना"), "not", (HE,)) == "साथ नहीं ले जाता है"


def test_passive() -> None:
    assert realise(SEE, "pass", (BOOK,)) == "देखी जाती है"
    assert realise(SEE, "pass-past", (BOOKS,)) == "देखी गईं"
    assert realise(SEE, "pass-must", (BOOK,)) == "देखी जानी है"
    assert realise(SEE, "pass-cont", (noun("घर", "m"),)) == "देखा जा रहा है"


def test_to_be() -> None:
    assert [realise(BE, "", (one,)) for one in (ME, WE, SHE)] == ["हूँ", "हैं", "है"]
    assert [realise(BE, "past", (one,)) for one in (ME, SHE, MOTHER)] == ["था", "थी", "थीं"]
    assert realise(BE, "fut-not", (SHE,)) == "नहीं होगी"
    assert realise(BE, "hab", (SHE,)) == "होती है"
    assert realise(verb("शुरू होना"), "past", (BOOK,)) == "शुरू हुई"


def test_dative_subjects() -> None:
    need = verb("ज़रूरत होना", "dative", "ki", "f")
    assert realise(need, "", (ME, BOOK)) == "ज़रूरत है"
    assert realise(need, "past-not", (ME, BOOK)) == "ज़रूरत नहीं थी"
    like = verb("पसंद होना", "dative")
    assert realise(like, "", (ME, BOOKS)) == "पसंद हैं"
    assert realise(verb("मिलना", "dative"), "past", (HE, CAT)) == "मिली"
    assert realise(verb("चाहिए", "dative"), "past", (HE, BOOK)) == "चाहिए थी"


def test_second_verbs_and_states() -> None:
    lose = verb("खोना", "ne +dena")
    assert realise(lose, "perf", (HE, BOOK)) == "खो दी है"
    assert realise(lose, "past-not", (HE, BOOK)) == "नहीं खोई"
    assert realise(lose, "cont", (HE, BOOK)) == "खो रहा है"
    assert realise(verb("भूलना", "+jaana"), "past", (SHE, BOOK)) == "भूल गई"
    assert realise(verb("बैठना", "state"), "cont", (SHE,)) == "बैठी हुई है"
    assert realise(verb("पहनना", "ne state"), "cont", (SHE, BOOK)) == "पहने हुए है"
    assert realise(verb("खड़ा होना", "state adj"), "cont", (SHE,)) == "खड़ी है"


def test_errors() -> None:
    with pytest.raises(PhrasebookError, match="no verb form 'zu'"):
        realise(EAT, "zu", (HE,))
    with pytest.raises(PhrasebookError, match="no infinitive in -ना"):
        realise(verb("खाता"), "", (HE,))
