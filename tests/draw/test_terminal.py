"""Terminal maps: the right characters in the right places, with colour and without."""

import io
import re
from typing import Literal

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from regard.draw.grid import make_grid
from regard.draw.terminal.heat_map import HeatMap, bar

Colours = Literal["standard", "256", "truecolor"]
EYE = np.array([[1.0, 0.0], [0.1, 0.6]])


def heatmap(
    weights: np.ndarray,
    rows: list[str],
    columns: list[str],
    title: str = "",
    maximum: float | None = 1.0,
) -> HeatMap:
    return HeatMap(make_grid(weights, rows, columns, maximum), title)


def printed(picture: RenderableType, *, colours: Colours | None = None, width: int = 80) -> str:
    file = io.StringIO()
    Console(
        file=file, width=width, force_terminal=colours is not None, color_system=colours,
        legacy_windows=False, _environ={},
    ).print(picture)  # fmt: skip
    return file.getvalue()


def test_without_colour_shades_tell_the_weights() -> None:
    lines = printed(heatmap(EYE, ["ja", "nein"], ["yes", "no"], title="T")).splitlines()
    assert lines[0] == "T"
    assert lines[2:5] == ["     yes no", "  ja ████", "nein ░░░░▓▓▓▓"]
    assert lines[-1].strip() == "blank 0  ░░ .05  ▒▒ .25  ▓▓ .50  ██ .75 … 1"


def test_empty_title_takes_no_line() -> None:
    assert printed(heatmap(EYE, list("ab"), list("cd"))).startswith("  c")


def test_true_colour_paints_backgrounds_and_no_shades() -> None:
    text = printed(heatmap(EYE, list("ab"), list("cd")), colours="truecolor")
    assert "\x1b[48;2;247;246;237m    " in text  # weight 1: the lightest anchor
    assert "\x1b[48;2;21;22;59m    " in text  # weight 0: the darkest
    assert not set(text) & set("░▒▓█")


def test_256_colours_are_the_nearest_ones() -> None:
    # rich remembers how a style was first written, so this weight occurs in no other test
    picture = heatmap(np.array([[0.4321]]), ["a"], ["b"])
    assert re.search("a \x1b\\[48;5;[0-9]+m    ", printed(picture, colours="256"))


def test_few_colours_or_no_color_fall_back_to_shades() -> None:
    picture = heatmap(EYE, list("ab"), list("cd"))
    assert "▓▓" in printed(picture, colours="standard")
    file = io.StringIO()
    Console(file=file, force_terminal=True, color_system="truecolor", no_color=True).print(picture)
    assert "▓▓" in file.getvalue()


def test_ascii_streams_get_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=file, width=80).print(heatmap(EYE, ["ä", "b"], ["long", "x"]))
    file.flush()
    assert b"\\xe4 ####" in raw.getvalue() and b"..." in raw.getvalue()


def test_labels_are_not_markup_and_cannot_move_the_cursor() -> None:
    text = printed(heatmap(EYE, ["[red]x", "\x1b[2J"], ["[/]", "b"], title="[b]"))
    assert "[red]x" in text and "[/]" in text and "[b]" in text and "\x1b" not in text


def test_long_labels_stand_on_stairs_with_leaders() -> None:
    columns = ["animal", "street", "it"]
    lines = printed(heatmap(np.eye(3), list("abc"), columns)).splitlines()
    assert lines[:4] == ["  animal", "  │   street", "  │   │   it", "a ████"]


def test_many_long_labels_are_written_downwards() -> None:
    weights = np.zeros((1, 20))
    lines = printed(heatmap(weights, ["r"], ["token"] * 20), width=60).splitlines()
    assert [line.split() for line in lines[:5]] == [[letter] * 20 for letter in "token"]


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_wide_maps_split_into_blocks_that_fit(width: int) -> None:
    labels = [f"t{i}" for i in range(60)]
    text = printed(heatmap(np.ones((60, 60)), labels, labels), width=width)
    lines = text.splitlines()
    assert max(cell_len(line) for line in lines[:-1]) <= width
    assert sum(line.count("█") for line in lines[:-1]) in (60 * 60 * 2, 60 * 60 * 3)


def test_cells_line_up_under_wide_characters() -> None:
    rows = ["注意", "नमस्ते", "it"]
    lines = printed(heatmap(np.ones((3, 1)), rows, ["力"])).splitlines()
    assert {cell_len(line.split("█")[0]) for line in lines[1:4]} == {5}


def test_one_cell_missing_value_and_maximum() -> None:
    assert "██" in printed(heatmap(np.ones((1, 1)), ["r"], ["c"]))
    assert "····" in printed(heatmap(np.array([[np.nan]]), ["r"], ["c"]))
    small = np.array([[0.04, 0.02]])
    text = printed(heatmap(small, ["r"], list("ab"), maximum=None))
    assert re.search(r"r ████▓▓▓▓$", text, re.MULTILINE) and text.rstrip().endswith(".04")


def test_bar() -> None:
    assert bar(0.5, 1, 4) == "██  "
    assert bar(0.3, 1, 10) == "███       "
    assert bar(1 / 16, 1, 2) == "▏ "
    assert bar(9, 1, 3) == "███" and bar(-1, 1, 3) == bar(float("nan"), 1, 3) == "   "
    assert all(cell_len(bar(i / 50, 1, 7)) == 7 for i in range(51))
