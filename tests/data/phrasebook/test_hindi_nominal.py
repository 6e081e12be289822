"""Hindi nouns, adjectives and pronouns against paradigms written out by hand."""

from __future__ import annotations

import pytest
from grammar.fillers import NounPhrase
from grammar.hindi.declension import Features, decline, inflect
from grammar.hindi.nominal import features, governed, noun_phrase, takes_ko
from grammar.tables import Lexeme

from regard.data.phrasebook.corpus import PhrasebookError


def noun(hi: str, gender: str, hi_flags: str = "", flags: str = "", classes: str = "x") -> Lexeme:
    cells = {"hi": hi, "hi_gender": gender, "hi_flags": hi_flags, "flags": flags}
    return Lexeme("noun", hi, hi, frozenset(classes.split()), cells)


def verb(hi: str, hi_flags: str = "", governs: str = "", inner: str = "") -> Lexeme:
    cells = {"hi_flags": hi_flags, "hi_governs": governs, "hi_inner": inner}
    return Lexeme("verb", hi, hi, frozenset({"v"}), cells)


def the(head: Lexeme, determiner: str = "the", plural: bool = False) -> NounPhrase:
    return NounPhrase(head.en, head, determiner, plural=plural)


BOY = noun("लड़का", "m", "animate", "he")
BOOK = noun("किताब", "f")
DOG = noun("कुत्ता", "m", "animate")
FATHER = noun("पिता", "m", "fixed honorific animate", "he", "kin")
MOTHER = noun("माँ", "f", "honorific animate", "she", "kin")
BROTHER = noun("भाई", "m", "animate", "he", "kin")
ANNA = NounPhrase(
    "Anna",
    Lexeme("name", "Anna", "अन्ना", frozenset({"name"}), {"flags": "she"}),
    definite_name=True,
)


@pytest.mark.parametrize(
    ("lexeme", "paradigm"),  # direct and oblique singular, direct and oblique plural
    [
        (BOY, "लड़का लड़के लड़के लड़कों"),
        (noun("घर", "m"), "घर घर घर घरों"),
        (noun("आदमी", "m"), "आदमी आदमी आदमी आदमियों"),
        (noun("आलू", "m"), "आलू आलू आलू आलुओं"),
        (noun("राजा", "m", "fixed"), "राजा राजा राजा राजाओं"),
        (noun("बटुआ", "m"), "बटुआ बटुए बटुए बटुओं"),
        (noun("कुआँ", "m"), "कुआँ कुएँ कुएँ कुओं"),
        (noun("रुपया", "m"), "रुपया रुपए रुपए रुपयों"),
        (noun("रेडियो", "m"), "रेडियो रेडियो रेडियो रेडियो"),
        (noun("रेस्तराँ", "m"), "रेस्तराँ रेस्तराँ रेस्तराँ रेस्तराँ"),
        (noun("लड़की", "f"), "लड़की लड़की लड़कियाँ लड़कियों"),
        (BOOK, "किताब किताब किताबें किताबों"),
        (noun("चिड़िया", "f"), "चिड़िया चिड़िया चिड़ियाँ चिड़ियों"),
        (noun("भाषा", "f"), "भाषा भाषा भाषाएँ भाषाओं"),
        (noun("दवाई", "f"), "दवाई दवाई दवाइयाँ दवाइयों"),
        (noun("मूर्ति", "f"), "मूर्ति मूर्ति मूर्तियाँ मूर्तियों"),
        (noun("वस्तु", "f"), "वस्तु वस्तु वस्तुएँ वस्तुओं"),
        (noun("बहू", "f"), "बहू बहू बहुएँ बहुओं"),
        (noun("फ़ोटो", "f", "fixed"), "फ़ोटो फ़ोटो फ़ोटो फ़ोटो"),
    ],
)
def test_declension(lexeme: Lexeme, paradigm: str) -> None:
    cells = [decline(lexeme, plural, oblique) for plural in (False, True) for oblique in (0, 1)]
    assert " ".join(cells) == paradigm


def test_words_given_in_the_plural_and_two_word_nouns() -> None:
    clothes = noun("कपड़े", "m", "plural")
    assert (decline(clothes, False, False), decline(clothes, False, True)) == ("कपड़े", "कपड़ों")
    assert decline(noun("सोने का कमरा", "m"), False, True) == "सोने के कमरे"
    assert decline(noun("चश्मे की डिब्बी", "f"), True, False) == "चश्मे की डिब्बियाँ"


@pytest.mark.parametrize(
    ("word", "forms"),  # masculine, masculine plural, feminine
    [
        ("बड़ा", ("बड़ा", "बड़े", "बड़ी")),
        ("नया", ("नया", "नए", "नई")),
        ("लाल", ("लाल", "लाल", "लाल")),
        ("थका हुआ", ("थका हुआ", "थके हुए", "थकी हुई")),
        ("तेज़ हवा वाला", ("तेज़ हवा वाला", "तेज़ हवा वाले", "तेज़ हवा वाली")),
        ("बहुत-सा", ("बहुत-सा", "बहुत-से", "बहुत-सी")),
    ],
)
def test_adjectives_agree(word: str, forms: tuple[str, str, str]) -> None:
    agree = (Features("m"), Features("m", True), Features("f"))
    assert tuple(inflect(word, one) for one in agree) == forms
    assert inflect(word, Features("m"), oblique=True) == forms[1]


@pytest.mark.parametrize(
    ("word", "row"),
    [
        ("I", "मैं मैंने मुझे मुझसे मुझमें मेरा मेरे मेरी"),
        ("you", "आप आपने आपको आपसे आपमें आपका आपके आपकी"),
        ("he", "वह उसने उसे उससे उसमें उसका उसके उसकी"),
        ("she", "वह उसने उसे उससे उसमें उसका उसके उसकी"),
        ("we", "हम हमने हमें हमसे हममें हमारा हमारे हमारी"),
        ("they", "वे उन्होंने उन्हें उनसे उनमें उनका उनके उनकी"),
    ],
)
def test_pronouns_fuse_with_postpositions(word: str, row: str) -> None:
    phrase = NounPhrase(word)
    forms = ("", "ne", "ko", "se", "me", "ka", "ke", "ki")
    assert " ".join(noun_phrase(phrase, form) for form in forms) == row
    assert noun_phrase(phrase, "par").endswith(" पर")


def test_postpositions_take_the_oblique() -> None:
    assert noun_phrase(the(BOY), "ne") == "लड़के ने"
    assert noun_phrase(the(BOY, "this"), "ko") == "इस लड़के को"
    assert noun_phrase(the(BOY, "two", plural=True), "se") == "दो लड़कों से"
    assert noun_phrase(the(BOY, "my"), "ka", (the(BOOK),)) == "मेरे लड़के की"
    assert noun_phrase(ANNA, "ka-obl", (the(BOY),)) == "अन्ना के"


def test_respect_is_plural_agreement() -> None:
    assert features(the(FATHER, "my")) == Features("m", True)
    assert noun_phrase(the(FATHER, "my"), "") == "मेरे पिता"
    assert noun_phrase(the(MOTHER, "my"), "") == "मेरी माँ"
    assert noun_phrase(the(MOTHER), "pron-ne") == "उन्होंने"
    assert noun_phrase(the(BROTHER), "pron-ne") == "उसने"


def test_determiners() -> None:
    assert noun_phrase(the(BOOK, "a"), "") == "एक किताब"
    assert noun_phrase(the(BOOK, "this", plural=True), "") == "ये किताबें"
    assert noun_phrase(the(BOOK, "this", plural=True), "me") == "इन किताबों में"
    assert noun_phrase(the(BOOK, "many", plural=True), "") == "बहुत-सी किताबें"
    assert noun_phrase(the(BOY, "how-many", plural=True), "") == "कितने लड़के"
    assert noun_phrase(the(BOY, "which"), "") == "कौन-सा लड़का"
    assert noun_phrase(the(BOY, "no"), "se") == "किसी लड़के से"


def test_the_subjects_own_things() -> None:
    he = NounPhrase("he")
    assert noun_phrase(the(BOOK, "his"), "", (he,)) == "अपनी किताब"
    assert noun_phrase(the(BOOK, "my"), "", (he,)) == "मेरी किताब"
    assert noun_phrase(the(BROTHER, "her"), "ko", (ANNA,)) == "अपने भाई को"


def test_ko_marks_people_and_definite_animals() -> None:
    marked = [takes_ko(the(one, d)) for one in (BOY, DOG, BOOK) for d in ("the", "a")]
    assert marked == [True, True, True, False, False, False]
    assert noun_phrase(NounPhrase("they"), "obj") == "उन्हें"


def test_having() -> None:
    mine = NounPhrase("I")
    assert noun_phrase(mine, "has", (the(BOOK, "a"),)) == "मेरे पास"
    assert noun_phrase(mine, "has", (the(BROTHER, "two", plural=True),)) == "मेरे"


def test_verbs_govern() -> None:
    boy = the(BOY)
    assert governed(boy, verb("देखना", "ne")) == "लड़के को"
    assert governed(boy, verb("मिलना", "", "se")) == "लड़के से"
    assert governed(boy, verb("मदद करना", "ne", "ka", "f")) == "लड़के की"
    assert governed(boy, verb("इंतज़ार करना", "ne", "ka", "m")) == "लड़के का"
    assert governed(NounPhrase("I"), verb("खेलना", "", "ke-saath")) == "मेरे साथ"
    assert governed(boy, verb("होना", "", "के ख़िलाफ़")) == "लड़के के ख़िलाफ़"
    assert governed(boy, verb("पसंद होना", "dative")) == "लड़का"
    with pytest.raises(PhrasebookError, match="hi_governs"):
        governed(boy, verb("देखना", "", "upon"))


def test_unknown_form() -> None:
    with pytest.raises(PhrasebookError, match="no noun form 'dat'"):
        noun_phrase(the(BOY), "dat")
