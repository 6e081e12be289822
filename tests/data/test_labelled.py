"""Tables of texts and labels: which columns are meant, what is left out and counted."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from refusals import refused
from regard.data.corpus import Limits
from regard.data.labelled import Columns, Labelled, in_order, read_labelled
from regard.data.lines import Problem
from regard.data.report import Report
from regard.data.role import Role
from regard.errors import DataError, MisuseError


def read(
    folder: Path, name: str, text: str | bytes, columns: Columns | None = None
) -> tuple[list[Labelled], Report]:
    path, report = folder / name, Report()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_labelled(path, columns or Columns(), report, Limits(60))), report


def plain(rows: Sequence[Labelled]) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(row.text, row.pair, row.labels) for row in rows]


def test_a_table_without_names_has_text_and_label(tmp_path: Path) -> None:
    rows, report = read(tmp_path, "a.tsv", "so good\t1\nso bad\t0\textra\n")
    assert plain(rows) == [("so good", None, ("1",)), ("so bad", None, ("0",))]
    assert (report.total, report.kept) == (2, 2)


def test_a_first_row_of_names_says_which_columns_are_meant(tmp_path: Path) -> None:
    text = "id\tLabel\tsentence\tText\n1\tyes\tno\tso good\n"
    rows, _ = read(tmp_path, "a.tsv", text)
    assert plain(rows) == [("so good", None, ("yes",))]
    other = Columns(Role("text", "sentence"), Role("pair", "Text"))
    rows, _ = read(tmp_path, "a.tsv", text, other)
    assert plain(rows) == [("no", "so good", ("yes",))]
    by_number = Columns(Role("text", "2"), label=Role("label", "1"))
    rows, _ = read(tmp_path, "a.tsv", "yes\tso good\n", by_number)
    assert plain(rows) == [("so good", None, ("yes",))]


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    expected = "has no column 'lable' .*did you mean .label.*1 'text', 2 'label'.*--label-column"
    with pytest.raises(MisuseError, match=expected):
        columns = Columns(label=Role("label", "lable"))
        read(tmp_path, "a.csv", "text,label\ngood,5\n", columns)


def test_csv_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    """Written by Python's own csv module: commas, quotes and breaks inside of cells."""
    given = [
        ["text", "label"],
        ['He said "no, never".', "bad"],
        ["two\nlines; and, a comma", "good"],
        ["", "good"],
        ["fine", ""],
        ["last", "good"],
    ]
    made = io.StringIO()
    csv.writer(made).writerows(given)
    rows, report = read(tmp_path, "a.csv", made.getvalue())
    assert plain(rows) == [
        ('He said "no, never".', None, ("bad",)),
        ("two lines; and, a comma", None, ("good",)),
        ("last", None, ("good",)),
    ]
    assert report.bad == {Problem.EMPTY: 1, Problem.UNLABELLED: 1}


def test_a_semicolon_in_the_first_text_does_not_divide_three_columns(tmp_path: Path) -> None:
    text = "A man; alone,A man.,2.5\nA dog.,A cat.,0\n"
    rows, _ = read(tmp_path, "a.csv", text, Columns(pair=Role("pair", "pair")))
    assert plain(rows)[0] == ("A man; alone", "A man.", ("2.5",))


def test_texts_alone_are_found_among_other_columns(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, "a.csv", 'id,text\n1,"a, b"\n', Columns(label=None))
    assert plain(rows) == [("a, b", None, ())]
    rows, _ = read(tmp_path, "a.txt", "text\nid,text\n", Columns(label=None))  # lines, no table
    assert [row.text for row in rows] == ["text", "id,text"]


def test_every_bad_row_is_counted_once(tmp_path: Path) -> None:
    lines = [
        b"good\t1",
        b"unlabelled",
        b"unlabelled too\t ",
        b"\t1",
        b"\xff\xfe\t1",
        b"nul\0\t1",
        b"long " * 20 + b"\t1",
        *[b"good %d\t0" % i for i in range(8)],
    ]
    rows, report = read(tmp_path, "a.tsv", b"\n".join(lines))
    assert len(rows) == report.kept == 9 and report.total == 15
    assert report.bad == {
        Problem.UNLABELLED: 2,
        Problem.EMPTY: 1,
        Problem.ENCODING: 1,
        Problem.NUL: 1,
        Problem.TOO_LONG: 1,
    }
    assert "no label: 2 lines (2, 3)." in report.lines()


def test_jsonl_names_its_columns_and_may_list_labels(tmp_path: Path) -> None:
    given: list[object] = [
        {"text": "a", "label": 1},
        {"text": "b", "label": True},
        {"text": "c"},
        {"text": 5, "label": 1},
        {"text": "d", "label": ["x", "y"]},
        [1],
        {"text": "e", "label": "z"},
        {"text": "f", "label": "z"},
        {"text": "g", "label": "z"},
    ]
    text = "\n".join(map(json.dumps, given))
    rows, report = read(tmp_path, "a.jsonl", text)
    assert [row.labels for row in rows] == [("1",), ("True",), ("z",), ("z",), ("z",)]
    assert report.bad == {Problem.UNLABELLED: 1, Problem.MALFORMED: 3}
    rows, report = read(tmp_path, "a.jsonl", text, Columns(several=True))
    assert ("d", None, ("x", "y")) in plain(rows)


def test_several_labels_of_a_cell_may_be_none(tmp_path: Path) -> None:
    rows, report = read(tmp_path, "a.tsv", "a\ty | x|x\nb\t\n", Columns(several=True))
    assert plain(rows) == [("a", None, ("x", "y")), ("b", None, ())]
    assert report.kept == 2


def test_gzip_and_files_that_are_no_tables(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, "a.tsv.gz", gzip.compress(b"good\t1\n"))
    assert plain(rows) == [("good", None, ("1",))]
    with refused(MisuseError, subject="a.txt", expected=".tsv, .csv, .jsonl"):
        read(tmp_path, "a.txt", "x")
    with pytest.raises(
        DataError, match="more than half of its rows are unusable(.|\n)*these are the columns"
    ):
        read(tmp_path, "a.tsv", "a\nb\nc\t1\n")


def test_numbers_are_listed_by_size() -> None:
    assert in_order({"10", "9", "-1", "2.5"}) == ("-1", "2.5", "9", "10")
    assert in_order({"10", "9", "b"}) == ("10", "9", "b")
