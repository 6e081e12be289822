"""SVG maps: well-formed, complete, escaped, with room for every label."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from regard.draw.figure.layout import PAD, plan
from regard.draw.figure.svg import heads_svg, heatmap_svg
from regard.draw.grid import make_grid
from regard.draw.labels import ems

NAME = "{http://www.w3.org/2000/svg}"


def cells(root: ET.Element) -> list[ET.Element]:
    return [r for r in root.iter(f"{NAME}rect") if "cell" in r.get("class", "").split()]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{NAME}text")]


def test_every_cell_has_a_tooltip_with_three_digits() -> None:
    weights = np.arange(6).reshape(2, 3) / 7
    root = ET.fromstring(heatmap_svg(weights, ["es", "war"], list("abc"), title="T", subtitle="S"))
    tips = [cell.findtext(f"{NAME}title") for cell in cells(root)]
    assert tips[0] == "es → a: 0.000" and tips[5] == "war → c: 0.714" and len(tips) == 6
    assert root.get("role") == "img" and root.findtext(f"{NAME}title") == "T"
    assert "war: mostly c (0.714)" in (root.findtext(f"{NAME}desc") or "")
    assert {"T", "S", "es", "war", "a", ".71", "0", "1"} <= set(texts(root))


def test_any_label_is_legal_xml_and_keeps_its_meaning() -> None:
    nasty = ["<s>", "&amp;", "\x00", "\x1b[0m", "\"'", "\ud800", "]]>", "\ufffe", " ", "\n"]
    svg = heatmap_svg(np.zeros((10, 10)), nasty, nasty, title="<b>\x01", subtitle="\x02 & co")
    root = ET.fromstring(svg.encode("utf-8"))
    shown = texts(root)
    assert {"<s>", "&amp;", "\\x00", "\\x1b[0m", "\"'", "\ufffd", "]]>", "␣", "↵"} <= set(shown)
    assert root.findtext(f"{NAME}title") == "<b>\\x01"


def test_nothing_is_loaded_or_run_and_dark_mode_is_there() -> None:
    svg = heatmap_svg(np.eye(2), list("ab"), list("cd"), title="T")
    links = re.findall(r"https?://[^\"' ]+", svg)
    assert links == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|@import|url\(|<image|<foreignObject|\son\w+=", svg)
    assert "@media (prefers-color-scheme:dark)" in svg
    style = ET.fromstring(svg).findtext(f"{NAME}style") or ""
    selectors = re.findall(
        r"([^{}]+)\{[^{}]*\}", style.replace("@media (prefers-color-scheme:dark){", "")
    )
    assert all(s.strip(" }\n").startswith(".regard-map") for s in selectors)  # a page is left alone


@pytest.mark.parametrize(("side", "numbers"), [(1, 1), (12, 144), (13, 0), (60, 0)])
def test_numbers_up_to_144_cells(side: int, numbers: int) -> None:
    labels = [f"token{i}" for i in range(side)]
    root = ET.fromstring(heatmap_svg(np.eye(side), labels, labels, title=""))
    assert len(cells(root)) == side * side
    assert sum(t.get("class", "").startswith("number") for t in root.iter(f"{NAME}text")) == numbers
    assert root.findtext(f"{NAME}title") == "Heat map"


@pytest.mark.parametrize(
    "word", ["it", "internationalization", "注意力机制", "अंतर्राष्ट्रीय", "W" * 60]
)
@pytest.mark.parametrize("side", [1, 8, 30, 60])
def test_column_labels_neither_overlap_nor_leave_the_picture(word: str, side: int) -> None:
    grid = make_grid(np.zeros((1, side, side)), [word] * side, [word] * side, 1.0)
    drawing = plan(grid, "title", "subtitle")
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
    root = ET.fromstring(heatmap_svg(np.eye(1), ["a"], ["b"], title="word " * 60))
    lines = [t for t in root.iter(f"{NAME}text") if t.get("class") == "title"]
    width = float(root.get("width", "0"))
    assert len(lines) > 2 and all(ems(t.text or "") * 17 < width - PAD for t in lines)


def test_missing_values_are_told() -> None:
    root = ET.fromstring(heatmap_svg(np.array([[math.nan, 0.2]]), ["r"], list("ab"), title=""))
    assert cells(root)[0].findtext(f"{NAME}title") == "r → a: no value"
    assert "none" in cells(root)[0].get("class", "") and "–" in texts(root)


@pytest.mark.parametrize("heads", [1, 2, 6, 7, 8, 16])
def test_heads_are_small_multiples(heads: int) -> None:
    labels = ["The", "animal", "it"]
    weights = np.full((heads, 3, 3), 1 / 3)
    root = ET.fromstring(heads_svg(weights, labels, labels, title="Layer 2"))
    assert len(cells(root)) == heads * 9
    assert [t for t in texts(root) if t.startswith("head ")] == [
        f"head {h + 1}" for h in range(heads)
    ]
    places = {(cell.get("x"), cell.get("y")) for cell in cells(root)}
    assert len(places) == heads * 9
    width, height = (float(root.get(side, "0")) for side in ("width", "height"))
    assert all(float(x or 0) < width and float(y or 0) < height for x, y in places)


def test_heads_names_must_match() -> None:
    with pytest.raises(ValueError, match="got 1 names for 2 heads"):
        heads_svg(np.zeros((2, 1, 1)), ["a"], ["b"], title="", names=["only"])
    with pytest.raises(ValueError, match="expected \\(panels, rows, columns\\)"):
        heatmap_svg(np.zeros((2, 2)), ["a"], ["b", "c"], title="")
