"""CSV as spreadsheets write it: what the csv module writes comes back; bad rows are counted."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import Limits, read_pairs
from regard.data.csv_rows import read_cells
from regard.data.lines import Problem
from regard.data.report import Report


def read(path: Path, content: bytes) -> tuple[list[tuple[str, str]], Report]:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    report = Report()
    pairs = [(pair.source, pair.target) for pair in read_pairs(path, None, report, Limits())]
    return pairs, report


QUOTED = (
    'source,target\r\n"Yes, please.","Ja, gern."\r\n"She said ""no"".","Sie sagte ""nein""."\r\n'
    '"two\r\nlines",zwei Zeilen\r\nplain,schlicht\r\n'
)
PAIRS = [
    ("Yes, please.", "Ja, gern."),
    ('She said "no".', 'Sie sagte "nein".'),
    ("two lines", "zwei Zeilen"),
    ("plain", "schlicht"),
]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_quotes_commas_breaks_and_a_mark(tmp_path: Path, name: str) -> None:
    pairs, report = read(tmp_path / name, b"\xef\xbb\xbf" + QUOTED.encode())
    assert pairs == PAIRS
    assert (report.total, report.kept) == (4, 4)


def test_semicolons_and_tabs(tmp_path: Path) -> None:
    pairs, _ = read(tmp_path / "a.csv", b'"Hello, you";"Hallo, du"\nYes, I do;Ja, doch\n')
    assert pairs == [("Hello, you", "Hallo, du"), ("Yes, I do", "Ja, doch")]
    assert read(tmp_path / "b.csv", b"a\tb\nc, d\te\n")[0] == [("a", "b"), ("c, d", "e")]


def test_columns_by_name_in_any_order(tmp_path: Path) -> None:
    content = 'id,Target,note,Source\n1,"Hund, der",x,dog\n2,Katze,"a\nb",cat\n'
    assert read(tmp_path / "a.csv", content.encode())[0] == [("dog", "Hund, der"), ("cat", "Katze")]


def test_bad_rows_are_counted_and_harm_no_other(tmp_path: Path) -> None:
    rows = [b"one,eins"] * 20
    rows[3] = b"yes, of course,ja"  # a comma that nobody quoted
    rows[5] = b'"never closed,nie zu'
    rows[7] = b"caf\xe9,Kaffee"
    rows[9] = b""
    rows[11] = b'"closed" and more,zu'
    rows[13] = b"alone"
    rows[15] = b"x" * 200_000 + b",lang"
    pairs, report = read(tmp_path / "a.csv", b"\n".join(rows) + b"\n")
    assert report.first_lines == {
        Problem.MALFORMED: [4, 6, 12, 14],
        Problem.ENCODING: [8],
        Problem.EMPTY: [10],
        Problem.TOO_LONG: [16],
    }
    assert pairs == [("one", "eins")] * 13


def test_a_quote_inside_a_cell_opens_nothing(tmp_path: Path) -> None:
    content = b'a 5" nail,ein Nagel\nnext,weiter\n'
    assert read(tmp_path / "a.csv", content)[0] == [
        ('a 5" nail', "ein Nagel"),
        ("next", "weiter"),
    ]


words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\n\t;"), min_size=1, max_size=9
)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_what_the_csv_module_writes_comes_back(rows: list[tuple[str, str]]) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    lines = file.getvalue().encode().removesuffix(b"\n").split(b"\n")
    assert list(read_cells(iter(lines), 2000)) == [list(row) for row in rows]
