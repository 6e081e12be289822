"""German morphology by hand: every table and every class of verb on words one can check."""

from __future__ import annotations

import pytest
from grammar.fillers import NounPhrase
from grammar.german import nominal, verbal
from grammar.german.grammar import expand, finish, german
from grammar.tables import Lexeme

GERMAN = german()
LEXICON = GERMAN.lexicon
ICH, YOU, HE, WE, THEY = (
    NounPhrase(w, plural=w in ("we", "they")) for w in ("I", "you", "he", "we", "they")
)


def lex(kind: str, lemma: str) -> Lexeme:
    found = LEXICON.find(kind, lemma)
    assert found is not None, lemma
    return found


def phrase(determiner: str, noun: str, adjective: str = "", plural: bool = False) -> NounPhrase:
    quality = lex("adj", adjective) if adjective else None
    return NounPhrase(noun, lex("noun", noun), determiner, quality, plural)


@pytest.mark.parametrize(
    ("determiner", "noun", "plural", "forms"),
    [
        (
            "the",
            "coat",
            False,
            "der alte Mantel/den alten Mantel/dem alten Mantel/des alten Mantels",
        ),
        ("the", "jacket", False, "die alte Jacke/die alte Jacke/der alten Jacke/der alten Jacke"),
        ("the", "shirt", False, "das alte Hemd/das alte Hemd/dem alten Hemd/des alten Hemdes"),
        (
            "the",
            "shirt",
            True,
            "die alten Hemden/die alten Hemden/den alten Hemden/der alten Hemden",
        ),
        (
            "a",
            "coat",
            False,
            "ein alter Mantel/einen alten Mantel/einem alten Mantel/eines alten Mantels",
        ),
        (
            "a",
            "jacket",
            False,
            "eine alte Jacke/eine alte Jacke/einer alten Jacke/einer alten Jacke",
        ),
        ("a", "shirt", False, "ein altes Hemd/ein altes Hemd/einem alten Hemd/eines alten Hemdes"),
        (
            "my",
            "coat",
            True,
            "meine alten Mäntel/meine alten Mäntel/meinen alten Mänteln/meiner alten Mäntel",
        ),
        (
            "two",
            "coat",
            True,
            "zwei alte Mäntel/zwei alte Mäntel/zwei alten Mänteln/zwei alter Mäntel",
        ),
        (
            "this",
            "coat",
            False,
            "dieser alte Mantel/diesen alten Mantel/diesem alten Mantel/dieses alten Mantels",
        ),
    ],
)
def test_weak_mixed_and_strong_endings(
    determiner: str, noun: str, plural: bool, forms: str
) -> None:
    np = phrase(determiner, noun, "old", plural)
    got = "/".join(nominal.noun_phrase(np, case) for case in nominal.CASES)
    assert got == forms


@pytest.mark.parametrize(
    ("noun", "forms"),
    [
        ("coffee", "kalter Kaffee/kalten Kaffee/kaltem Kaffee"),
        ("milk", "kalte Milch/kalte Milch/kalter Milch"),
        ("water", "kaltes Wasser/kaltes Wasser/kaltem Wasser"),
    ],
)
def test_strong_endings_of_mass_nouns(noun: str, forms: str) -> None:
    np = phrase("bare", noun, "cold")
    assert "/".join(nominal.noun_phrase(np, case) for case in ("nom", "acc", "dat")) == forms


@pytest.mark.parametrize(
    ("noun", "accusative", "genitive"),
    [
        ("student", "den Studenten", "des Studenten"),
        ("lion", "den Löwen", "des Löwen"),
        ("neighbor", "den Nachbarn", "des Nachbarn"),
        ("bear", "den Bären", "des Bären"),
        ("boy", "den Jungen", "des Jungen"),
        ("dog", "den Hund", "des Hundes"),
        ("house", "das Haus", "des Hauses"),
        ("teacher", "den Lehrer", "des Lehrers"),
    ],
)
def test_n_declension_and_genitive(noun: str, accusative: str, genitive: str) -> None:
    assert nominal.noun_phrase(phrase("the", noun), "acc") == accusative
    assert nominal.noun_phrase(phrase("the", noun), "gen") == genitive


@pytest.mark.parametrize(
    ("noun", "plural", "dative"),
    [
        ("child", "Kinder", "Kindern"),
        ("house", "Häuser", "Häusern"),
        ("car", "Autos", "Autos"),
        ("woman", "Frauen", "Frauen"),
        ("mother", "Mütter", "Müttern"),
        ("tree", "Bäume", "Bäumen"),
        ("actress", "Schauspielerinnen", "Schauspielerinnen"),
        ("museum", "Museen", "Museen"),
        ("teacher", "Lehrer", "Lehrern"),
    ],
)
def test_plural_and_dative_plural(noun: str, plural: str, dative: str) -> None:
    assert nominal.plural(lex("noun", noun)) == plural
    assert nominal.decline(lex("noun", noun), "dat", True) == dative


@pytest.mark.parametrize(
    ("adjective", "masculine", "comparative", "superlative"),
    [
        ("expensive", "teurer", "teurer", "teuerst"),
        ("high", "hoher", "höher", "höchst"),
        ("dark", "dunkler", "dunkler", "dunkelst"),
        ("old", "alter", "älter", "ältest"),
        ("big", "großer", "größer", "größt"),
        ("good", "guter", "besser", "best"),
        ("lazy", "fauler", "fauler", "faulst"),
        ("tired", "müder", "müder", "müdest"),
        ("sour", "saurer", "saurer", "sauerst"),
    ],
)
def test_adjective_stems_and_grades(
    adjective: str, masculine: str, comparative: str, superlative: str
) -> None:
    word = lex("adj", adjective)
    assert nominal.adjective(word, "er") == masculine
    assert nominal.grade(word, "comp") == comparative
    assert nominal.grade(word, "sup") == superlative


def forms(infinitive: str, *wanted: tuple[str, NounPhrase | None]) -> str:
    verb = lex("verb", infinitive)
    return " ".join(
        GERMAN.realise(verb, form, (agree,) if agree else (), None) for form, agree in wanted
    )


@pytest.mark.parametrize(
    ("infinitive", "present"),
    [
        ("kaufen", "kaufe kaufst kauft kaufen kaufen"),
        ("spielen", "spiele spielst spielt spielen spielen"),
        ("arbeiten", "arbeite arbeitest arbeitet arbeiten arbeiten"),
        ("zeichnen", "zeichne zeichnest zeichnet zeichnen zeichnen"),
        ("lernen", "lerne lernst lernt lernen lernen"),
        ("essen", "esse isst isst essen essen"),
        ("lesen", "lese liest liest lesen lesen"),
        ("fahren", "fahre fährst fährt fahren fahren"),
        ("halten", "halte hältst hält halten halten"),
        ("einladen", "lade lädst lädt laden laden"),
        ("putzen", "putze putzt putzt putzen putzen"),
        ("sammeln", "sammle sammelst sammelt sammeln sammeln"),
        ("wandern", "wandere wanderst wandert wandern wandern"),
        ("sein", "bin bist ist sind sind"),
        ("wissen", "weiß weißt weiß wissen wissen"),
        ("dürfen", "darf darfst darf dürfen dürfen"),
    ],
)
def test_present(infinitive: str, present: str) -> None:
    people = (ICH, YOU, HE, WE, THEY)
    assert forms(infinitive, *(("", person) for person in people)) == present


@pytest.mark.parametrize(
    ("infinitive", "preterite", "perfect"),
    [
        ("kaufen", "kaufte kauften", "hat gekauft"),
        ("gehen", "ging gingen", "ist gegangen"),
        ("fahren", "fuhr fuhren", "ist gefahren"),
        ("besuchen", "besuchte besuchten", "hat besucht"),
        ("reparieren", "reparierte reparierten", "hat repariert"),
        ("anrufen", "rief riefen", "hat angerufen"),
        ("einschalten", "schaltete schalteten", "hat eingeschaltet"),
        ("aufstehen", "stand standen", "ist aufgestanden"),
        ("vorbereiten", "bereitete bereiteten", "hat vorbereitet"),
        ("übersetzen", "übersetzte übersetzten", "hat übersetzt"),
        ("folgen", "folgte folgten", "ist gefolgt"),
        ("bringen", "brachte brachten", "hat gebracht"),
        ("gehören", "gehörte gehörten", "hat gehört"),
        ("antworten", "antwortete antworteten", "hat geantwortet"),
    ],
)
def test_preterite_and_perfect(infinitive: str, preterite: str, perfect: str) -> None:
    assert forms(infinitive, ("past", HE), ("past", THEY)) == preterite
    assert forms(infinitive, ("aux", HE), ("pp", None)) == perfect


@pytest.mark.parametrize(
    ("infinitive", "wanted"),
    [
        ("anrufen", "ruft an anruft anrief anzurufen anrufen"),
        ("aufmachen", "macht auf aufmacht aufmachte aufzumachen aufmachen"),
        ("kaufen", "kauft  kauft kaufte zu kaufen kaufen"),
    ],
)
def test_separable_prefix_in_every_position(infinitive: str, wanted: str) -> None:
    got = forms(
        infinitive,
        ("", HE),
        ("prefix", None),
        ("fin", HE),
        ("fin-past", HE),
        ("zu", None),
        ("inf", None),
    )
    assert got == wanted


@pytest.mark.parametrize(
    ("infinitive", "wanted"),
    [
        ("kommen", "komm"),
        ("geben", "gib"),
        ("warten", "warte"),
        ("fahren", "fahr"),
        ("nehmen", "nimm"),
        ("zeichnen", "zeichne"),
        ("füttern", "füttere"),
    ],
)
def test_imperative(infinitive: str, wanted: str) -> None:
    assert verbal.imperative(lex("verb", infinitive)) == wanted


def test_reflexive_agrees() -> None:
    brush = lex("verb", "brush one's teeth")
    assert [verbal.reflexive(brush, p) for p in (ICH, YOU, HE, WE)] == ["mir", "dir", "sich", "uns"]
    rest = lex("verb", "rest")
    assert [verbal.reflexive(rest, p) for p in (ICH, YOU, HE, WE)] == [
        "mich",
        "dich",
        "sich",
        "uns",
    ]
    assert verbal.middle(brush) == "die Zähne"


def test_government() -> None:
    wait, help_ = lex("verb", "wait for"), lex("verb", "help")
    neighbor = phrase("my", "neighbor")
    assert GERMAN.realise(neighbor, "V", (), wait) == "auf meinen Nachbarn"
    assert GERMAN.realise(neighbor, "V", (), help_) == "meinem Nachbarn"


def test_pronouns_follow_gender() -> None:
    wanted = {"suitcase": "er ihn ihm", "bag": "sie sie ihr", "book": "es es ihm"}
    for noun, line in wanted.items():
        np = phrase("the", noun)
        got = [nominal.noun_phrase(np, form) for form in ("pron", "pron-acc", "pron-dat")]
        assert " ".join(got) == line


def test_contractions_but_not_of_relative_pronouns() -> None:
    assert finish("er geht zu der Schule und in das Haus.") == "Er geht zur Schule und ins Haus."
    house = phrase("the", "house")
    relative = nominal.noun_phrase(house, "rel-dat")
    assert finish(f"das Haus, in {relative} ich wohne.") == "Das Haus, in dem ich wohne."


def test_brackets() -> None:
    expanded = expand("{S} [main V:S {X} | {T}].").split()
    assert " ".join(expanded) == "{S} {V:S} {X} {V.refl:S} {T} {V.mid} {V.prefix}."
