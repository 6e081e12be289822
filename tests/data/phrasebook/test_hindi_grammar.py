"""The Hindi grammar as a whole: brackets, spelling, agreement over a clause, the real tables."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from grammar.fillers import Filler, NounPhrase
from grammar.hindi.grammar import expand, finish, hindi
from grammar.notation import Hole, read_template
from grammar.sampling import Sampler
from grammar.tables import Lexeme


def test_brackets() -> None:
    assert expand("[past V:S,O {T}]।").split() == [
        "{S.ne:V}",
        "{T}",
        "{O.V:S}",
        "{V.past:S,O}।",
    ]
    assert expand("[must V:S]").split() == ["{S.ko}", "{V.must:S}"]
    assert expand("[cont-not V:S x]").split() == ["{S.subj:V}", "x", "{V.cont-not:S}"]
    # a lemma is no slot: whether it takes ने is known when the bracket is read
    assert expand("[past देना:S,O]").split() == ["{S.ne}", "{O.obj:S}", "{देना.past:S,O}"]
    assert expand("[past जाना:S]").split() == ["{S}", "{जाना.past:S}"]


def test_finish() -> None:
    assert finish("वह  घर  में है .") == "वह घर में है।"
    assert finish("क्या वह  आया ?") == "क्या वह आया?"
    assert finish("वह आया, क्योंकि वह थका था ।") == "वह आया क्योंकि वह थका था।"
    assert finish("\u095b\u092e\u0940\u0928") == "\u091c\u093c\u092e\u0940\u0928"  # one nuqta


def say(template: str, **fillers: Filler) -> str:
    """Realise a template with the real lexicon."""
    words = []
    for piece in read_template(expand(template)):
        if isinstance(piece, str):
            words.append(piece)
            continue
        assert isinstance(piece, Hole)
        filler = fillers.get(piece.name) or hindi().lexicon.find("verb", piece.name)
        assert filler is not None
        agree = tuple(fillers[name] for name in piece.agree.split(",") if name in fillers)
        governor = fillers.get(piece.form)
        verb = governor if isinstance(governor, Lexeme) else None
        words.append(hindi().realise(filler, piece.form, agree, verb))
    return finish("".join(words))


def np(
    lemma: str, determiner: str = "the", plural: bool = False, adjective: str = ""
) -> NounPhrase:
    head = hindi().lexicon.find("noun", lemma)
    quality = hindi().lexicon.find("adj", adjective) if adjective else None
    assert head is not None
    return NounPhrase(lemma, head, determiner, quality, plural)


def lexeme(kind: str, lemma: str) -> Lexeme:
    found = hindi().lexicon.find(kind, lemma)
    assert found is not None
    return found


def name(lemma: str) -> NounPhrase:
    return NounPhrase(lemma, lexeme("name", lemma), definite_name=True)


HE, ME = NounPhrase("he"), NounPhrase("I")


@pytest.mark.parametrize(
    ("sentence", "template", "fillers"),
    [
        (
            "अन्ना ने अपनी किताब बेची।",
            "[past V:S,O]।",
            {"S": "name Anna", "V": "sell", "O": "her book"},
        ),
        ("मुझे खिड़की खोलनी है।", "[must V:S,O]।", {"S": "I", "V": "open", "O": "the window"}),
        (
            "उसने मेरी माँ की मदद की।",
            "[past V:S,O]।",
            {"S": "he", "V": "help", "O": "my mother"},
        ),
        ("वह लड़की से मिला।", "[past V:S,O]।", {"S": "he", "V": "meet", "O": "the girl"}),
        ("उसने कुत्ते को देखा।", "[past V:S,O]।", {"S": "he", "V": "see", "O": "the dog"}),
        (
            "मेरे पिता काम करते हैं।",
            "[pres V:S]।",
            {"S": "my father", "V": "work"},
        ),
        ("मेरे पास एक कार है।", "{S.has:O} {O} {होना:O}।", {"S": "I", "O": "a car"}),
        ("मेरी एक बहन है।", "{S.ka:O} {O} {होना:O}।", {"S": "I", "O": "a sister"}),
    ],
)
def test_clauses(sentence: str, template: str, fillers: dict[str, str]) -> None:
    made: dict[str, Filler] = {}
    for slot, text in fillers.items():
        first, _, rest = text.partition(" ")
        if slot == "V":
            made[slot] = lexeme("verb", text)
        elif first == "name":
            made[slot] = name(rest)
        else:
            made[slot] = np(rest, first) if rest else NounPhrase(first)
    assert say(template, **made) == sentence


def test_words_that_agree() -> None:
    anna, father = name("Anna"), np("father", "your")
    assert say("{S} {कैसा:S} {होना:S}?", S=anna) == "अन्ना कैसी है?"
    assert say("{S} {कैसा:S} {होना:S}?", S=father) == "आपके पिता कैसे हैं?"
    assert say("{N}, आप {कैसा.polite:N} हैं?", N=anna) == "अन्ना, आप कैसी हैं?"
    world = Lexeme("word", "in the world", "दुनिया में", frozenset({"w"}), {})
    river = np("river", adjective="beautiful")
    assert say("{W.ka:O} सबसे {A:O} {O.bare}", W=world, O=np("river"), A=lexeme("adj", "big")) == (
        "दुनिया की सबसे बड़ी नदी"
    )
    assert say("{O}", O=river) == "सुंदर नदी"
    doctor = np("doctor", "a", adjective="good")
    assert say("{S} {O.pred:S} {होना:S}।", S=father, O=doctor) == "आपके पिता एक अच्छे डॉक्टर हैं।"
    assert say("{S} {A:S} {होना:S}।", S=HE, A=lexeme("adj", "old")) == "वह बूढ़ा है।"


def test_a_quality_follows_the_answer() -> None:
    """वह is the animal or the street: था and थी tell, and the adjective before them agrees."""
    animal, street, wide = np("animal"), np("street"), lexeme("adj", "wide")
    scene = {"A": animal, "B": street, "X": wide}
    assert say("वह बहुत {X.either:A,B} था।", **scene) == "वह बहुत चौड़ा था।"
    assert say("वह बहुत {X.either:A,B} थी।", **scene) == "वह बहुत चौड़ी थी।"
    assert [hindi().pronoun(one) for one in (animal, street)] == ["था", "थी"]


def test_questions_for_people() -> None:
    call, take = lexeme("verb", "help"), lexeme("verb", "forget")
    assert say("{S.ne:V} {V.whom} {V.past:S}?", S=ME, V=call) == "मैंने किसकी मदद की?"
    key = np("key")
    assert say("{S.who:V} {O.V} {V.who-perf:O}?", S=ME, V=take, O=key) == "कौन चाबी भूल गया है?"
    lady = Lexeme("word", "Mrs. Weber", "श्रीमती वेबर", frozenset({"w"}), {})
    assert say("क्या आप {V.polite-can:F}?", V=call, F=lady) == "क्या आप मदद कर सकती हैं?"


def test_every_pattern_makes_hindi() -> None:
    """Each template can be filled, and what comes out is Devanagari without leftovers."""
    sampler = Sampler(hindi(), random.Random(3))
    for pattern in hindi().patterns:
        drafts = sampler.drafts(replace(pattern, count=5))
        assert drafts, pattern.name
        for draft in drafts:
            assert not set("{}[]|_@") & set(draft.target), (pattern.name, draft.target)
            assert "  " not in draft.target
