"""The worksheet in the terminal: one written out by hand, any width, no colours, ASCII only."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

import example_sheets as sheets
from regard.draw.worksheet.terminal import TerminalSheet
from regard.draw.worksheet.worksheet import Worksheet


def printed(sheet: Worksheet, width: int, **options: object) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(TerminalSheet(sheet, **options), crop=False)  # type: ignore[arg-type]
    return file.getvalue()


def test_the_notes_sheet() -> None:
    expected = """\
The cat sat
by hand

 1  Embedding                      x = E
    One row for each word.

    E      1  2  3  4
      The  1  0  1  0
      cat  0  1  0  1
      sat  1  1  1  1

 2  Output for The             z = Σ w·v

    w         The     cat     sat
    ▸ The  0.4223  0.1554  0.4223

    z =
      0.4223 · (1, 0, 1, 0)  The
    + 0.1554 · (0, 1, 0, 1)  cat
    + 0.4223 · (1, 1, 1, 1)  sat
    = (0.8446, 0.5777, 0.8446, 0.5777)
    0.4223 · 1 + 0.4223 · 1 = 0.8446
    ✗ you wrote 1.2669, it is 0.8446
"""
    assert printed(sheets.NOTES, 40) == expected


@pytest.mark.parametrize("width", [60, 80, 100, 133, 240])
def test_a_wide_matrix_is_cut_to_the_screen_and_says_so(width: int) -> None:
    lines = printed(sheets.ODD, width).splitlines()
    tables = [line for line in lines if re.search(r"\d\.\d{4}", line)]
    assert tables and all(cell_len(line) <= width for line in tables)
    said = re.search(r"(\d+) of 128 columns are hidden", "\n".join(lines))
    assert said is not None
    row = next(line for line in tables if "▸" in line)
    assert "…" in row
    assert len(re.findall(r"−?\d\.\d{4}", row)) == 128 - int(said[1])
    assert max(map(cell_len, tables)) > width - 12  # the screen is used


def test_columns_and_decimals_are_obeyed() -> None:
    whole = printed(sheets.ODD, 80, columns=0)
    assert "hidden" not in whole and max(map(len, whole.splitlines())) > 1000
    three = printed(sheets.ODD, 80, columns=3, decimals=1)
    assert "125 of 128 columns are hidden" in three
    # −2 … 2 in 384 steps: the second row begins at −2 + 128 · 4/383 = −0.663
    row = next(line for line in three.splitlines() if "▸" in line)
    assert re.findall(r"−?\d+\.\d+", row) == ["−0.7", "−0.7", "0.7"]


def test_nothing_is_obeyed_by_the_terminal() -> None:
    assert "\x1b" not in printed(sheets.ODD, 80)


def test_ascii_only() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=80).print(TerminalSheet(sheets.NOTES), crop=False)
    Console(file=file, width=80).print(TerminalSheet(sheets.ODD), crop=False)
    file.seek(0)
    text = file.read()  # a character that is not ASCII would have raised
    assert "0.4223 * (1, 0, 1, 0)" in text and "wrong: you wrote" in text and "-inf" in text


def test_colours_say_the_sign_and_the_mark() -> None:
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=True, color_system="truecolor")
    console.print(TerminalSheet(sheets.ODD), crop=False)
    console.print(TerminalSheet(sheets.NOTES), crop=False)
    text = file.getvalue()
    assert re.search(r"38;2;212;86;42m−2\.0000", text)  # the lowest of all: orange
    assert re.search(r"38;2;32;142;164m ?1\.99", text) or re.search(r"164m 2\.0000", text)
    assert "\x1b[1;31m✗" in text
