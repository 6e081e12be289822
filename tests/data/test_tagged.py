"""CoNLL files: words with tags in, sentences out; what is broken is counted and said."""

import gzip
from pathlib import Path

import pytest

from refusals import refused
from regard.data.corpus import Limits
from regard.data.report import Report
from regard.data.tagged import read_tagged
from regard.errors import DataError, MisuseError

GOOD = "The\tD\ndogs\tN\nsleep\tV\n\n\n  \nYes\tI\n.\tP\n"


def read(path: Path, content: str, word: str = "text", tag: str = "label") -> tuple[list[str], str]:
    path.write_text(content, encoding="utf-8")
    report = Report()
    rows = list(read_tagged(path, word, tag, report, Limits()))
    shown = [
        f"{row.line}: " + " ".join(map("/".join, zip(row.text.split(), row.labels, strict=True)))
        for row in rows
    ]
    return shown, " ".join(report.lines())


def test_sentences_end_at_empty_lines(tmp_path: Path) -> None:
    expected = ["1: The/D dogs/N sleep/V", "7: Yes/I ./P"]
    rows, said = read(tmp_path / "a.conll", GOOD)
    assert rows == expected and said == "2 sentences read, 2 kept, 0 left out."
    assert read(tmp_path / "a.conll", GOOD.replace("\n", "\r\n"))[0] == expected
    assert read(tmp_path / "a.conll", GOOD.replace("\t", "  "))[0] == expected
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.write(GOOD)
    found = list(read_tagged(tmp_path / "a.gz", "text", "label", Report(), Limits()))
    assert [row.line for row in found] == [1, 7]


def test_columns_by_number(tmp_path: Path) -> None:
    ner = "-DOCSTART- -X- -X- O\n\nAda NNP B-NP B-PER\nsleeps VBZ B-VP O\n"
    assert read(tmp_path / "a", ner, "1", "4")[0] == ["3: Ada/B-PER sleeps/O"]
    assert read(tmp_path / "a", ner, "1", "2")[0] == ["3: Ada/NNP sleeps/VBZ"]
    with pytest.raises(MisuseError, match="counted from 1, got 0"):
        read(tmp_path / "a", ner, "0", "1")


def test_a_sentence_with_a_bad_line_is_left_out_whole(tmp_path: Path) -> None:
    rows, said = read(tmp_path / "a", f"{GOOD}\nThe\tD\ncat\n\nNew York\tN\n\n{GOOD}")
    assert [row.partition(":")[0] for row in rows] == ["1", "7", "15", "21"]
    assert said == (
        "6 sentences read, 4 kept, 2 left out. malformed row: 1 sentence (13). "
        "no label: 1 sentence (10)."
    )


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no sentence is usable(.|\n)*no label: 1 sentence"):
        read(tmp_path / "a", "The dogs sleep\n".replace(" ", "\n"))
    with pytest.raises(DataError, match=r"malformed row(.|\n)*data.text and data.label"):
        read(tmp_path / "a", "a b c\n")
    with pytest.raises(DataError, match="0 sentences read"):
        read(tmp_path / "a", "")
    with pytest.raises(MisuseError, match="as CoNLL writes them"):
        read(tmp_path / "a.csv", GOOD)
    with refused(DataError, problem="no such file"):
        read_tagged(tmp_path / "b", "text", "label", Report(), Limits())
    long = "word\tN\n" * 500
    with pytest.raises(DataError, match="too long: 1 sentence"):
        read(tmp_path / "a", long)
