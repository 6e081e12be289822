"""Tables, bars and sums of numbers in the terminal."""

import io
import math
from typing import Literal

import numpy as np
from rich.cells import cell_len
from rich.console import Console, RenderableType

from regard.draw.terminal.tables import NumberTable, WrittenSums, bars


def printed(
    picture: RenderableType, *, width: int = 80, colours: Literal["truecolor"] | None = None
) -> str:
    file = io.StringIO()
    Console(
        file=file, width=width, force_terminal=colours is not None, color_system=colours,
        legacy_windows=False, _environ={},
    ).print(picture, highlight=False)  # fmt: skip
    return file.getvalue()


def test_every_number_is_there_with_its_shade() -> None:
    values = np.array([[0.0, 0.5], [math.nan, 1.0]])
    lines = printed(NumberTable(values, ["a", "b"], ["c", "dd"], "T", (0, 1))).splitlines()
    assert lines == ["T", "     c    dd", "a 0.00  0.50▓", "b    –  1.00█"]


def test_without_ends_the_shade_runs_over_the_numbers_there_are() -> None:
    values = np.array([[-20.0, 0.0, 20.0]])
    text = printed(NumberTable(values, ["r"], list("abc"), "T"))
    assert "-20.00   " in text and "0.00▓" in text and "20.00█" in text
    same = printed(NumberTable(np.full((1, 2), 3.0), ["r"], list("ab"), "T"))
    assert "3.00  3.00\n" in same  # nothing to tell apart, no shade


def test_colour_replaces_the_shade() -> None:
    table = NumberTable(np.array([[0.0, 1.0]]), ["r"], list("ab"), "", (0, 1))
    text = printed(table, colours="truecolor")
    assert "48;2;247;246;237m" in text and not set(text) & set("░▒▓█")


def test_wide_tables_split_into_blocks() -> None:
    labels = [f"token{i}" for i in range(20)]
    lines = printed(NumberTable(np.ones((20, 20)), labels, labels, "T"), width=60).splitlines()
    assert max(cell_len(line) for line in lines) <= 60
    assert sum(line.count("1.00") for line in lines) == 400


def test_bars() -> None:
    lines = str(bars([0.5, 0.0, math.nan], ["bank", "a", "b"])).splitlines()
    assert lines == ["bank  0.50 " + "█" * 20, "   a  0.00", "   b     –"]


def test_sums_align_and_break_before_a_plus() -> None:
    sums = [("bank", ["0.25 money", "0.70 bank", "0.05 grows"]), ("a", ["1.00 [b]"])]
    assert printed(WrittenSums(sums, "")).splitlines() == [
        "bank = 0.25 money + 0.70 bank + 0.05 grows",
        "   a = 1.00 [b]",
    ]
    assert printed(WrittenSums(sums[:1], ""), width=30).splitlines() == [
        "bank = 0.25 money + 0.70 bank",
        "     + 0.05 grows",
    ]
