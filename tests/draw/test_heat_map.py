"""Heat maps as SVG: well-formed, complete, escaped, with room for every label."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from regard.draw.figure.canvas import MISSING, PAD, SMALL_SIZE, TITLE_SIZE, Picture, Rect, Text, Tip
from regard.draw.figure.heat_map import heat_map
from regard.draw.figure.layout import Plan
from regard.draw.figure.svg import svg
from regard.draw.grid import make_grid
from regard.draw.labels import ems

NAME = "{http://www.w3.org/2000/svg}"


def cells(picture: Picture) -> list[Tip]:
    return [shape for shape in picture.shapes if isinstance(shape, Tip)]


def square(cell: Tip) -> Rect:
    assert isinstance(cell.shapes[0], Rect)
    return cell.shapes[0]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{NAME}text")]


def test_every_cell_has_a_tooltip_with_three_digits() -> None:
    weights = np.arange(6).reshape(2, 3) / 7
    root = ET.fromstring(svg(heat_map(make_grid(weights, ["es", "war"], list("abc")), "T", "S")))
    tips = [group.findtext(f"{NAME}title") or "" for group in root.iter(f"{NAME}g")]
    assert tips[0] == "es → a: 0.000" and tips[5] == "war → c: 0.714" and len(tips) == 6
    assert root.get("role") == "img" and root.findtext(f"{NAME}title") == "T"
    assert "war: mostly c (0.714)" in (root.findtext(f"{NAME}desc") or "")
    assert {"T", "S", "es", "war", "a", ".71", "0", "1"} <= set(texts(root))


def test_any_label_is_legal_xml_and_keeps_its_meaning() -> None:
    nasty = ["<s>", "&amp;", "\x00", "\x1b[0m", "\"'", "\ud800", "]]>", "\ufffe", " ", "\n"]
    text = svg(heat_map(make_grid(np.zeros((10, 10)), nasty, nasty), "<b>\x01", "\x02 & co"))
    root = ET.fromstring(text.encode("utf-8"))
    shown = texts(root)
    assert {"<s>", "&amp;", "\\x00", "\\x1b[0m", "\"'", "\ufffd", "]]>", "␣", "↵"} <= set(shown)
    assert root.findtext(f"{NAME}title") == "<b>\\x01"


def test_nothing_is_loaded_or_run_and_dark_mode_is_there() -> None:
    text = svg(heat_map(make_grid(np.eye(2), list("ab"), list("cd")), "T"))
    links = re.findall(r"https?://[^\"' ]+", text)
    assert links == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|@import|url\(|<image|<foreignObject|\son\w+=", text)
    assert "@media (prefers-color-scheme:dark)" in text
    style = ET.fromstring(text).findtext(f"{NAME}style") or ""
    selectors = re.findall(
        r"([^{}]+)\{[^{}]*\}", style.replace("@media (prefers-color-scheme:dark){", "")
    )
    assert all(s.strip(" }\n").startswith(".regard-map") for s in selectors)  # a page is left alone


@pytest.mark.parametrize(("side", "numbers"), [(1, 1), (12, 144), (13, 0), (60, 0)])
def test_numbers_up_to_144_cells(side: int, numbers: int) -> None:
    labels = [f"token{i}" for i in range(side)]
    picture = heat_map(make_grid(np.eye(side), labels, labels), "")
    assert len(cells(picture)) == side * side and picture.title == "Heat map"
    shown = [shape for cell in cells(picture) for shape in cell.shapes if isinstance(shape, Text)]
    assert len(shown) == numbers and all(text.size == SMALL_SIZE for text in shown)


@pytest.mark.parametrize(
    "word", ["it", "internationalization", "注意力机制", "अंतर्राष्ट्रीय", "W" * 60]
)
@pytest.mark.parametrize("side", [1, 8, 30, 60])
def test_column_labels_neither_overlap_nor_leave_the_picture(word: str, side: int) -> None:
    grid = make_grid(np.zeros((1, side, side)), [word] * side, [word] * side, 1.0)
    drawing = Plan(grid, "title", "subtitle")
    turn = math.radians(drawing.angle)
    length = ems(drawing.columns[0]) * drawing.font
    x, y = drawing.label_point(0, side - 1)
    head = PAD + 24 + 19
    if drawing.angle:
        assert drawing.cell * math.sin(turn) >= drawing.font * 1.2  # lines of text stay apart
        assert y - length * math.sin(turn) >= head
        assert x + length * math.cos(turn) <= drawing.width
    else:
        assert length <= drawing.cell
    assert drawing.left - ems(drawing.rows[0]) * drawing.font >= PAD
    assert drawing.left + side * drawing.cell <= drawing.width - PAD


def test_a_long_title_is_broken_not_clipped() -> None:
    picture = heat_map(make_grid(np.eye(1), ["a"], ["b"]), "word " * 60)
    lines = [shape for shape in picture.shapes if isinstance(shape, Text) and shape.bold]
    assert len(lines) > 2
    assert all(ems(line.text) * TITLE_SIZE < picture.width - PAD for line in lines)


def test_missing_values_are_told() -> None:
    picture = heat_map(make_grid(np.array([[math.nan, 0.2]]), ["r"], list("ab")), "")
    assert cells(picture)[0].words == "r → a: no value"
    assert square(cells(picture)[0]).fill == MISSING
    assert "–" in texts(ET.fromstring(svg(picture)))


@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 16])
def test_heads_are_small_multiples(count: int) -> None:
    labels = ["The", "animal", "it"]
    names = [f"head {head + 1}" for head in range(count)]
    grid = make_grid(np.full((count, 3, 3), 1 / 3), labels, labels)
    picture = heat_map(grid, "Layer 2", names=names)
    assert [t for t in texts(ET.fromstring(svg(picture))) if t.startswith("head ")] == names
    squares = [square(cell) for cell in cells(picture)]
    assert len({(s.x, s.y) for s in squares}) == len(squares) == count * 9
    assert all(s.x + s.width < picture.width and s.y + s.height < picture.height for s in squares)


def test_heads_names_must_match() -> None:
    with pytest.raises(ValueError, match="got 1 names for 2 heads"):
        heat_map(make_grid(np.zeros((2, 1, 1)), ["a"], ["b"]), "", names=["only"])
