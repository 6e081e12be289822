"""Corpora that are wrong as a whole: exchanged, shifted, copied; and one that is not."""

import random
from pathlib import Path

import pytest

import toy
from regard.data.languages import NAMES, SCRIPTS, WORDS, guess
from regard.data.phrasebook.corpus import phrasebook
from regard.data.suspicion import look_at, suspicions, validation_suspicions

EN, DE = Path("train.en"), Path("train.de.gz")


def phrases(count: int = 3000) -> list[tuple[str, str]]:
    return [(entry.source, entry.target) for entry in phrasebook("de")[:count]]


def said(pairs: list[tuple[str, str]], files: tuple[Path | None, Path | None] = (EN, DE)) -> str:
    return "\n".join(suspicions(look_at(pairs), files))


def test_a_good_corpus_is_not_suspected() -> None:
    assert said(phrases()) == ""
    assert said(toy.pairs(50)) == ""


def test_exchanged_files_are_noticed_by_their_names() -> None:
    found = said([(target, source) for source, target in phrases()])
    assert "train.en is named English but looks German: are the two files exchanged?" in found
    assert "train.de.gz is named German but looks English: are the two files exchanged?" in found
    unnamed = said([(t, s) for s, t in phrases()], (Path("a.txt"), Path("b.txt")))
    assert unnamed == ""  # nobody can know which way was meant


def test_a_missing_line_shifts_all_later_pairs() -> None:
    pairs = phrases()
    random.Random(3).shuffle(pairs)  # neighbours in the phrasebook are alike
    shifted = list(zip([s for s, _ in pairs][:-1], [t for _, t in pairs][1:], strict=True))
    assert "is a line missing" in said(shifted)
    assert "is a line missing" not in said(pairs)


def test_some_pairs_the_wrong_way_round() -> None:
    pairs = phrases()
    mixed = [(t, s) if i % 10 == 0 else (s, t) for i, (s, t) in enumerate(pairs)]
    assert "of the pairs seem to run in the other direction" in said(mixed)


def test_the_same_text_on_both_sides() -> None:
    found = said([(s, s) for s, _ in phrases()])
    assert "3,000 of 3,000 pairs are the same on both sides" in found
    assert "both sides are made of the same words (100% of them)" in found


def test_repetitions() -> None:
    assert "400 of 800 pairs are repetitions" in said(phrases(400) * 2)


def test_a_validation_set_in_the_other_direction() -> None:
    pairs = phrases()
    look, valid = look_at(pairs[:2500]), pairs[2500:]
    assert validation_suspicions(look, valid) == []
    (sentence,) = validation_suspicions(look, [(t, s) for s, t in valid])
    assert "exchange data.valid_source and data.valid_target" in sentence


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the cat sat on the mat and it was not for you that he came to the house " * 4, "en"),
        ("die Katze ist nicht in dem Haus und der Hund ist mit den Kindern auf dem Weg " * 4, "de"),
        ("le chat est dans la maison et il ne veut pas que les chiens soient avec des " * 4, "fr"),
        ("кошка спит дома а собака гуляет " * 10, "ru"),
        ("rot blau grün eins zwei drei " * 10, None),
    ],
)  # fmt: skip
def test_a_language_by_its_small_words(text: str, language: str | None) -> None:
    words: dict[str, int] = {}
    for word in text.casefold().split():
        words[word] = words.get(word, 0) + 1
    assert guess(words) == language


def test_every_language_has_a_name() -> None:
    assert set(NAMES) == set(WORDS) | set(SCRIPTS)


def test_captions_in_exchanged_files() -> None:
    """Captions hardly hold "the" or "that": the article "a" must speak for English."""
    english = ["a man in a blue shirt is standing on a ladder", "two dogs play with a red ball"]
    german = [
        "ein mann in einem blauen hemd steht auf einer leiter",
        "zwei hunde spielen mit einem roten ball und die kinder sehen zu",
    ]
    look = look_at([(de, en) for de, en in zip(german * 60, english * 60, strict=True)])
    said = suspicions(look, (Path("x.en"), Path("x.de")))
    assert "x.en is named English but looks German: are the two files exchanged?" in said
    assert "x.de is named German but looks English: are the two files exchanged?" in said
