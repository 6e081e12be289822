"""The page: well-formed, self-contained, every number in its cell, nothing obeyed."""

import re
from html.parser import HTMLParser

import pytest

import example_sheets as sheets
from regard.draw.worksheet.html import worksheet_html
from regard.draw.worksheet.worksheet import Worksheet

VOID = {"meta"}


class Reader(HTMLParser):
    """Collects tags, the text of cells, and complains about what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("sheet", [sheets.NOTES, sheets.ODD], ids=["notes", "odd"])
def test_well_formed_and_self_contained(sheet: Worksheet) -> None:
    page = worksheet_html(sheet)
    reader = read(page)
    tags = {tag for tag, _ in reader.seen}
    assert not tags & {"script", "link", "img", "iframe", "object", "base"}
    assert not re.search(r"https?:|url\(|@import|\x1b", page)
    assert all(not {"href", "src"} & set(attributes) for _, attributes in reader.seen)
    steps = [attributes for tag, attributes in reader.seen if tag == "details"]
    assert len(steps) == len(sheet.steps) and all("open" in step for step in steps)
    for needed in ("width=device-width", "prefers-color-scheme:dark", "@media print"):
        assert needed in page


def test_the_numbers_are_in_their_cells() -> None:
    rows = read(worksheet_html(sheets.NOTES)).rows
    assert rows[:4] == [
        ["", "1", "2", "3", "4"],
        ["The", "1", "0", "1", "0"],
        ["cat", "0", "1", "0", "1"],
        ["sat", "1", "1", "1", "1"],
    ]
    assert rows[5] == ["The", "0.4223", "0.1554", "0.4223"]
    assert rows[6] == ["The", "", "0.4223", "· (1, 0, 1, 0)"]
    assert rows[9][-1] == "(0.8446, 0.5777, 0.8446, 0.5777)"


def test_tints_follow_sign_and_size() -> None:
    page = worksheet_html(sheets.ODD, columns=2)
    assert '<td class="m9">−2.0000</td>' in page and '<td class="p9">2.0000</td>' in page
    assert "126 of 128 columns are hidden" in page
    assert "hidden" not in worksheet_html(sheets.ODD, columns=0)


def test_marks() -> None:
    page = worksheet_html(sheets.NOTES)
    assert '<p class="mark wrong">✗ you wrote 1.2669, it is 0.8446</p>' in page
    assert "<script" not in worksheet_html(sheets.ODD)
