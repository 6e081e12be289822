"""Bad tables and pattern files: the complaint names the file, the line and the column."""

from __future__ import annotations

from pathlib import Path

import pytest
from grammar import english
from grammar.fillers import NounPhrase
from grammar.german.grammar import german
from grammar.notation import Hole, read_patterns, read_template
from grammar.tables import Lexeme, read_table, require

from regard.data.phrasebook.corpus import PhrasebookError


def table(folder: Path, text: str) -> Path:
    path = folder / "nouns.tsv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "nouns.tsv, line 1: expected a line of column names"),
        ("en\tde\n", "nouns.tsv, line 1: column 'classes' is missing"),
        ("en\tde\tclasses\ndog\tHund\tpet\tmore\n", "nouns.tsv, line 2, column 4: got 4 values"),
        ("en\tde\tclasses\n\ndog\tHund\t\n", r"nouns.tsv, line 3, column 3 \(classes\): empty"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(PhrasebookError, match=complaint):
        read_table(table(tmp_path, text), "noun", "de")


def test_bad_gender_names_the_cell(tmp_path: Path) -> None:
    path = table(tmp_path, "en\tde\tde_gender\tclasses\ndog\tHund\tx\tpet\n")
    rows = read_table(path, "noun", "de")
    with pytest.raises(PhrasebookError, match="nouns.tsv, line 2, column de_gender: got 'x'"):
        require(rows, "de_gender", ("m", "f", "n"))


def test_a_row_exists_for_the_languages_that_it_has(tmp_path: Path) -> None:
    path = table(tmp_path, "en\tde\thi\tclasses\ndog\tHund\tकुत्ता\tpet\nwok\t\tकड़ाही\ttool\n")
    assert [row.target for row in read_table(path, "noun", "de")] == ["Hund"]
    assert [row.target for row in read_table(path, "noun", "hi")] == ["कुत्ता", "कड़ाही"]
    with pytest.raises(PhrasebookError, match="nouns.tsv, line 1: column 'xx' is missing"):
        read_table(path, "noun", "xx")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Bad Header!\n  en: x\n", "demo.txt, line 1: not a header"),
        ("one 5 [nonsense]\n  en: x\n", "demo.txt, line 1: slice 'nonsense'"),
        ("one\n  S: name\n  en: {S}\n", "demo.txt, line 1: pattern one lacks"),
        ("one\n  what is this\n  en: x\n  de: y\n", "demo.txt, line 2: expected 'NAME"),
    ],
)
def test_bad_patterns(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "demo.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PhrasebookError, match=complaint):
        read_patterns(path, "de", str)


def test_a_pattern_is_read(tmp_path: Path) -> None:
    path = tmp_path / "demo.txt"
    path.write_text(
        "# comment\ndemo 7 [it]\n  A: the animal | name; B: the way\n  @A X: adj a\n"
        "  @B X: adj b\n  en: {A} saw\n  + {B.obj}.\n  de: {A}.\n",
        encoding="utf-8",
    )
    (pattern,) = read_patterns(path, "de", str)
    assert (pattern.name, pattern.count, pattern.slices) == ("demo", 7, ("it",))
    assert pattern.slots[0].alternatives == ("the animal", "name")
    assert pattern.deciding_slots == ("A", "B")
    assert pattern.source == (Hole("A"), " saw ", Hole("B", "obj"), ".")


def test_a_pattern_exists_for_the_languages_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "demo.txt"
    path.write_text(
        "bank\n  @Bank|बैंक X: word a\n  @Ufer|किनारा X: word b\n  en: {X}\n  de: {@}\n  hi: {@}।\n"
        "\nonly-german\n  en: a\n  de: b\n",
        encoding="utf-8",
    )
    german_ones, hindi_ones = (read_patterns(path, code, str) for code in ("de", "hi"))
    assert [one.name for one in german_ones] == ["bank", "only-german"]
    assert [one.answer for one in german_ones[0].readings] == ["Bank", "Ufer"]
    assert [one.name for one in hindi_ones] == ["bank"]
    assert [one.answer for one in hindi_ones[0].readings] == ["बैंक", "किनारा"]
    assert hindi_ones[0].target == (Hole("@"), "।")


def test_holes() -> None:
    assert read_template("{V.past:S}!") == (Hole("V", "past", "S"), "!")


def noun(word: str) -> Lexeme:
    return Lexeme("noun", word, "", frozenset(), {"en": word})


def test_english_forms() -> None:
    assert [english.plural(noun(w)) for w in ("box", "city", "boy", "church")] == [
        "boxes",
        "cities",
        "boys",
        "churches",
    ]
    assert [english.third(w) for w in ("go", "watch", "try", "play", "have")] == [
        "goes",
        "watches",
        "tries",
        "plays",
        "has",
    ]
    assert [english.ing(w) for w in ("make", "sit", "see", "lie", "play", "open")] == [
        "making",
        "sitting",
        "seeing",
        "lying",
        "playing",
        "opening",
    ]
    assert english.finish("a apple , a hour and a university") == (
        "An apple, an hour and a university"
    )


def test_english_agreement() -> None:
    found = german().lexicon.find("verb", "brush one's teeth")
    assert found is not None
    assert english.verb(found, "", NounPhrase("she")) == "brushes her teeth"
    assert english.verb(found, "past", NounPhrase("we", plural=True)) == "brushed our teeth"
