"""The files of the package are what the grammar makes, and what they say of words is right."""

import gzip
import shutil
from pathlib import Path

import make_phrasebook
import pytest

from refusals import refused
from regard.data.phrasebook import corpus
from regard.data.phrasebook.corpus import FOLDER, AlignedPair, aligned_pairs, phrasebook
from regard.errors import DamageError
from regard.text.words import split_words

# Words that translate each other, linked by a person.
BY_HAND = {
    "de": {
        "The animal didn't cross the street because it was too tired.": (
            "The-Das animal-Tier the-die street-Straße it-es tired-müde"
        ),
        "Laura takes care of this cat.": (
            "Laura-Laura takes-kümmert care-sich of-sich this-diese cat-Katze"
        ),
        "You have bought this warm hat.": (
            "You-Du have-hast bought-gekauft this-diesen warm-warmen hat-Hut"
        ),
    },
    "hi": {
        "We remember the concert.": "We-हमें remember-याद remember-है concert-कॉन्सर्ट",
        "He has worn a blue sweater.": ("He-उसने worn-पहना worn-है a-एक blue-नीला sweater-स्वेटर"),
        "The cashier is clever, right?": "cashier-कैशियर is-है clever-होशियार",
    },
}


def pair_of(source: str, language: str = "de") -> AlignedPair:
    entries = [entry.source for entry in phrasebook(language)]
    return aligned_pairs(language)[entries.index(source)]


@pytest.mark.parametrize("language", ["de", "hi"])
@pytest.mark.parametrize(
    "what", ["pairs", *(pytest.param(w, marks=pytest.mark.long) for w in ("words", "trees"))]
)
def test_the_grammar_makes_the_files_of_the_package(language: str, what: str) -> None:
    """If not: `make phrasebook`."""
    packed = (FOLDER / f"{language}.{what}.jsonl.gz").read_bytes()
    make = vars(make_phrasebook)[what]
    assert gzip.decompress(packed) == make(language)


@pytest.mark.parametrize("place", [30, 5000, -2])
def test_a_damaged_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy")
    file = tmp_path / "copy" / "de.pairs.jsonl.gz"
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    monkeypatch.setattr(corpus, "FOLDER", tmp_path / "copy")
    with refused(DamageError, subject="de.pairs.jsonl.gz", problem="differs from its checksum"):
        corpus._rows.__wrapped__("de", "pairs")


@pytest.mark.parametrize(
    ("language", "source"), [(code, text) for code, texts in BY_HAND.items() for text in texts]
)
def test_links_are_those_that_a_person_draws(language: str, source: str) -> None:
    pair = pair_of(source, language)
    links = {f"{pair.source[one].text}-{pair.target[other].text}" for one, other in pair.links}
    assert links == set(BY_HAND[language][source].split())


@pytest.mark.parametrize("language", ["de", "hi"])
def test_words_are_those_of_the_sentences_and_links_lead_to_the_same_slot(language: str) -> None:
    linked = 0
    for entry, pair in zip(phrasebook(language), aligned_pairs(language), strict=True):
        assert [word.text for word in pair.source] == split_words(entry.source)
        assert [word.text for word in pair.target] == split_words(entry.target)
        assert len(set(pair.links)) == len(pair.links)
        for one, other in pair.links:
            slots = pair.source[one].slot, pair.target[other].slot
            assert slots[0] and slots[0].removesuffix(".rest") == slots[1].removesuffix(".rest")
        linked += len({one for one, _ in pair.links}) / len(pair.source)
    assert linked / len(phrasebook(language)) > 0.5


def test_a_pronoun_follows_the_noun_that_it_means() -> None:
    frame = "The animal didn't cross the street because it was too "
    for quality, antecedent in {"tired.": "animal", "wide.": "street"}.items():
        for language in ("de", "hi"):
            pair = pair_of(frame + quality, language)
            (it,) = [word for word in pair.source if word.text == "it"]
            assert [w.text for w in pair.source if (w.slot,) == it.agrees_with] == [antecedent]
            (partner,) = [other for one, other in pair.links if pair.source[one] == it]
            assert pair.target[partner].agrees_with == it.agrees_with


def test_a_verb_names_the_slot_that_it_agrees_with() -> None:
    words = [word for pair in aligned_pairs() for word in pair.source]
    verbs = [word for word in words if word.kind == "verb" and word.agrees]
    assert len(verbs) > 5000 and all(len(word.agrees_with) == 1 for word in verbs)
    german = pair_of("You have bought this warm hat.").target
    assert [(w.text, w.agrees_with) for w in german if w.slot in ("have", "V")] == [
        ("hast", ("S",)),
        ("gekauft", ()),
    ]
    hindi = pair_of("He has worn a blue sweater.", "hi").target  # with ने: as the object
    assert [w.agrees_with for w in hindi if w.slot == "V"] == [("O",), ("O",)]


def test_a_possessive_follows_its_owner() -> None:
    for entry, pair in zip(phrasebook(), aligned_pairs(), strict=True):
        if entry.pattern == "long-search":  # Yesterday Anna lost her key, so …
            assert {w.agrees_with for w in pair.source if w.slot == "O.determiner"} == {("S",)}
            assert {w.agrees_with for w in pair.target if w.slot == "O.determiner"} == {("O", "S")}


def test_the_word_that_a_slice_asks_for_is_linked() -> None:
    for language in ("de", "hi"):
        for entry, pair in zip(phrasebook(language), aligned_pairs(language), strict=True):
            if {"bank", "apple"} & set(entry.slices):
                links = {pair.target[other].text for _, other in pair.links}
                assert entry.answer in links, entry
