"""The phrasebook in the user's cache: the same as made, and made again where it must be."""

from pathlib import Path

import pytest

from regard.data.phrasebook import corpus, kept
from regard.data.phrasebook.kept import KeptRows, kept_rows
from regard.data.phrasebook.word_classes import words_of

ROWS: KeptRows = [["a\u2028b\r\nc", "क", ["x"]], ["d", "", []]]


class Maker:
    """Makes the rows and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> KeptRows:
        self.asked += 1
        return ROWS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "phrasebook"


def test_rows_are_made_once(folder: Path) -> None:
    make = Maker()
    assert kept_rows("rows", make) == kept_rows("rows", make) == ROWS
    assert make.asked == 1
    assert [file.name for file in folder.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize("place", [0, 30, -2])
def test_a_damaged_file_is_made_again(folder: Path, place: int) -> None:
    make = Maker()
    kept_rows("rows", make)
    content = bytearray((folder / "rows.jsonl").read_bytes())
    content[place] ^= 1
    (folder / "rows.jsonl").write_bytes(content)
    assert kept_rows("rows", make) == kept_rows("rows", make) == ROWS
    assert make.asked == 2


@pytest.mark.parametrize("content", [b"", b"\n", b"[]\n", b"\xff\n[]\n"])
def test_something_else_of_that_name_is_made_again(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_bytes(content)
    assert kept_rows("rows", Maker()) == ROWS


def test_another_grammar_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    kept_rows("rows", make)
    monkeypatch.setattr(kept, "_grammar", lambda: "another")
    assert kept_rows("rows", make) == ROWS and make.asked == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    make = Maker()
    assert kept_rows("rows", make) == kept_rows("rows", make) == ROWS
    assert make.asked == 2


@pytest.mark.parametrize("language", ["de", "hi"])
def test_what_is_kept_is_what_the_grammar_makes(folder: Path, language: str) -> None:
    built = corpus._build(language, 1)
    for _ in ("made", "read"):
        book = corpus._book.__wrapped__(language, 1)
        assert [entry for entry, _ in book] == [entry for entry, _ in built]
        assert [lemmas for _, lemmas in book] == [draft.lemmas for _, draft in built]
    assert repr(book[0][0]) == repr(built[0][0])  # tuples, not lists


def test_kept_words_are_those_of_the_drafts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = corpus._build("de", 1)[::100]
    monkeypatch.setattr(corpus, "_build", lambda language, seed: few)
    expected = {e.source: words_of(d, corpus._language("de").lexicon) for e, d in few}
    for _ in ("made", "read"):
        assert corpus.words_of_sentences.__wrapped__("de", 1) == expected
