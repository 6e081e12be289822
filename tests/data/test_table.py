"""Which columns of a table are meant: found by name, by content, by place; said; or refused."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from refusals import refused
from regard.data.column_names import language_of
from regard.data.lines import Problem
from regard.data.role import Role
from regard.data.table import Table
from regard.errors import MisuseError

PAIR = (Role("source"), Role("target"))
LABELLED = (Role("text"), Role("label"))
TEXT = (Role("text"),)
MAIL = [
    ("Where is my parcel today?", "question"),
    ("The phone is broken again.", "complaint"),
    ("Thank you, all is well.", "praise"),
    ("How do I pay this bill?", "question"),
    ("Nobody answers my letters.", "complaint"),
    ("A very good service.", "praise"),
    ("Can I return the shoes?", "question"),
    ("The shoes are too small.", "complaint"),
]


def table(folder: Path, text: str, roles: Sequence[Role], name: str = "a.csv") -> Table:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return Table(path, roles, 2000)


def read(folder: Path, text: str, roles: Sequence[Role], name: str = "a.csv") -> list[list[str]]:
    found = table(folder, text, roles, name)
    return [
        [str(found.value(row, role)) for role in found.chosen.places]
        for row in found.rows
        if not isinstance(row, Problem)
    ]


def rows_with_ids(header: str, divider: str = ",") -> str:
    rows = [f"{17 + n}{divider}{t.replace(',', '')}{divider}{k}" for n, (t, k) in enumerate(MAIL)]
    return "\n".join([*([header] if header else []), *rows]) + "\n"


def test_languages_in_the_first_row_are_source_and_target(tmp_path: Path) -> None:
    text = "id,english,german\n1,the dog sleeps,der Hund schläft\n2,a cat,eine Katze\n"
    found = table(tmp_path, text, PAIR)
    assert found.chosen.said() == "source = column 2 'english', target = column 3 'german'"
    assert read(tmp_path, text, PAIR) == [
        ["the dog sleeps", "der Hund schläft"], ["a cat", "eine Katze"],
    ]  # fmt: skip
    for header in ("id,EN,de-DE", "no,sentence_en,sentence_de", "nr,English,Deutsch"):
        assert len(read(tmp_path, text.replace("id,english,german", header), PAIR)) == 2
    with pytest.raises(MisuseError, match=r"which column is the source\? .*--source-column"):
        table(tmp_path, "en,de,fr\na dog,ein Hund,un chien\n", PAIR)


def test_names_of_languages() -> None:
    named = ["de", "German", "sentence_en", "en-US", "Deutsch", "हिन्दी"]
    assert all(language_of(name) for name in named)
    others = ["id", "no", "text", "it is so", "denomination", "source", ""]
    assert not any(language_of(name) for name in others)


def test_two_columns_without_names_are_first_and_second(tmp_path: Path) -> None:
    found = table(tmp_path, "dog,Hund\ncat,Katze\n", PAIR)
    assert found.chosen.said() == "source = column 1, target = column 2 (no row of names)"
    assert len(list(found.rows)) == 2
    assert len(read(tmp_path, "Target,Source\nHund,dog\n", PAIR)) == 1
    assert read(tmp_path, "Target,Source\nHund,dog\n", PAIR) == [["dog", "Hund"]]


def test_the_two_columns_of_texts_among_ids_and_numbers(tmp_path: Path) -> None:
    rows = [f"{n}\tthe dog {n}\tder Hund {n}\t0.{n}" for n in range(10, 20)]
    found = table(tmp_path, "\n".join(rows), PAIR, "a.tsv")
    assert found.chosen.said() == (
        "source = column 2, target = column 3 (by what is in them) (no row of names)"
    )
    again = [f"{n}\tthe dog {n % 3}\tder Hund {n % 3}\t0.{n}" for n in range(10, 20)]
    assert read(tmp_path, "\n".join(again), PAIR, "a.tsv")[0] == ["the dog 1", "der Hund 1"]
    unclear = "\n".join(f"{row}\tand a note {row[:2]}" for row in rows)
    with pytest.raises(MisuseError, match=r"which column.*2 \(for example 'the dog 10'\)"):
        table(tmp_path, unclear, PAIR, "a.tsv")


@pytest.mark.parametrize("divider", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["id{0}message{0}category", "Nr{0}was er schrieb{0}warum", ""])
def test_texts_and_labels_are_found_with_and_without_known_names(
    header: str, divider: str, tmp_path: Path
) -> None:
    text = rows_with_ids(header.format(divider), divider)
    expected = [[text.replace(",", ""), label] for text, label in MAIL]
    assert read(tmp_path, text, LABELLED) == expected
    assert read(tmp_path, text, TEXT) == [row[:1] for row in expected]
    assert read(tmp_path, "\ufeff" + text, LABELLED, "b.csv.gz") == expected


def test_the_columns_that_a_run_remembers_come_first(tmp_path: Path) -> None:
    text = "message,note\nthe text,a note\n"
    assert read(tmp_path, text, [Role("text")]) == [["the text"]]
    assert read(tmp_path, text, [Role("text", remembered="note")]) == [["a note"]]
    # One that is not there is looked for by other names; one that the user names must be there.
    assert read(tmp_path, text, [Role("text", remembered="body")]) == [["the text"]]
    with refused(MisuseError, problem="has no column 'nota'"):
        table(tmp_path, text, [Role("text", "nota")])
    numbered = "\n".join(f"{n},words of {n}" for n in range(9))
    assert read(tmp_path, numbered, [Role("text", remembered="1")])[0] == ["words of 0"]
    assert read(tmp_path, "hello\nworld\n", [Role("text", remembered="1")]) == [
        ["hello"],
        ["world"],
    ]


def test_columns_by_number_of_a_table_with_and_without_names(tmp_path: Path) -> None:
    by_number = (Role("source", "3"), Role("target", "2"))
    assert read(tmp_path, "id,english,german\n1,dog,Hund\n2,cat,Katze\n", by_number) == [
        ["Hund", "dog"], ["Katze", "cat"],
    ]  # fmt: skip
    assert read(tmp_path, "1,dog,Hund\n", by_number) == [["Hund", "dog"]]
    with refused(MisuseError, problem="has no column 4 (for target)", advice="its columns are 1"):
        table(tmp_path, "1,dog,Hund\n", (Role("source", "1"), Role("target", "4")))
    with refused(MisuseError, problem="source and target are both column 1"):
        table(tmp_path, "1,dog,Hund\n", (Role("source", "1"), Role("target", "1")))


def test_a_row_like_the_others_is_no_header(tmp_path: Path) -> None:
    """A label may be called what a column is called."""
    assert len(read(tmp_path, "why?\tquestion\nwho?\tquestion\n", LABELLED, "a.tsv")) == 2
    assert len(read(tmp_path, "mine\tcategory\nyours\tcategory\n", LABELLED, "a.tsv")) == 2
    assert len(read(tmp_path, "Text.\tgood\nMore text.\tbad\n", LABELLED, "a.tsv")) == 2
    assert len(read(tmp_path, "1\t2\n3\t4\n", LABELLED, "a.tsv")) == 2


def test_two_names_of_the_same_kind_leave_it_open(tmp_path: Path) -> None:
    rows = "\n".join(f"mail number {n};the body of {n}" for n in range(6))
    with pytest.raises(MisuseError, match=r"which column is the text\? Its columns are 1 'title'"):
        table(tmp_path, f"title;body\n{rows}\n", TEXT)
    assert read(tmp_path, f"title;text\n{rows}\n", TEXT)[0] == ["the body of 0"]


def test_jsonl_has_the_names_of_its_keys(tmp_path: Path) -> None:
    rows = [{"id": n, "message": text, "category": label} for n, (text, label) in enumerate(MAIL)]
    text = "\n".join(map(json.dumps, rows))
    found = table(tmp_path, text, LABELLED, "a.jsonl")
    assert found.chosen.said() == "text = 'message', label = 'category'"
    assert read(tmp_path, text, LABELLED, "a.jsonl") == [list(row) for row in MAIL]
    with refused(
        MisuseError, problem="has no column 'mesage'", advice="'id', 'message', 'category'"
    ):
        table(tmp_path, text, [Role("text", "mesage")], "a.jsonl")
    pair = '{"id": 1, "translation": {"xx": "one", "yy": "eins"}}\n'
    assert read(tmp_path, pair, PAIR, "a.jsonl") == [["one", "eins"]]


def test_what_a_spreadsheet_says_about_its_dividers(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=;\r\ntext;label\r\n1,5 l of milk;yes\r\n", LABELLED) == [
        ["1,5 l of milk", "yes"]
    ]
    commas = "Hello, you;greeting\nYes, of course, you too;answer\n"
    assert read(tmp_path, commas, LABELLED)[0] == ["Hello, you", "greeting"]
