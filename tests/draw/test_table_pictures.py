"""Tables as pictures: every number is there, inside the page, in readable ink."""

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from regard.draw.figure.table_pictures import FONT, LEVELS, tables_png, tables_svg
from regard.draw.labels import ems
from regard.draw.palette import channels, contrast, ink_on, scale
from regard.draw.terminal.tables import NumberTable

NAME = "{http://www.w3.org/2000/svg}"
VALUES = np.array([[-11.15, 0.5], [math.nan, 14.7]])


def tables(count: int = 2, values: np.ndarray = VALUES, *labels: str) -> list[NumberTable]:
    rows = list(labels) or ["▁Hi", "<s>"]
    return [NumberTable(values, rows, rows, f"table {i}") for i in range(count)]


def test_every_number_and_label_is_there() -> None:
    root = ET.fromstring(tables_svg(tables(), "T", "S"))
    texts = [text.text for text in root.iter(f"{NAME}text")]
    for word, times in (("-11.15", 2), ("0.50", 2), ("14.70", 2), ("–", 2), ("<s>", 4), ("T", 1)):
        assert texts.count(word) == times, word
    fills = [rect.get("class") for rect in root.iter(f"{NAME}rect")][1:5]
    assert fills == ["k0", "k14", "none", "k32"]  # (0.5 + 11.15) / 25.85 × 32 = 14.4


@pytest.mark.parametrize("side", [1, 5, 30])
@pytest.mark.parametrize("word", ["it", "internationalization", "आइसक्रीम"])
def test_nothing_leaves_the_page_and_labels_do_not_meet(side: int, word: str) -> None:
    made = tables(3, np.full((side, side), -100.25), *[word] * side)
    root = ET.fromstring(tables_svg(made, "A title", "a subtitle"))
    width, height = (float(root.get(edge, "0")) for edge in ("width", "height"))
    cells = list(root.iter(f"{NAME}rect"))[1:]
    assert len(cells) == 3 * side * side
    for cell in cells:
        x, y, w, h = (float(cell.get(k, "")) for k in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
    heads = [t for t in root.iter(f"{NAME}text") if t.get("class") == "middle"]
    assert all(ems(t.text or "") * FONT <= float(cells[0].get("width", "")) for t in heads)
    ends = [t for t in root.iter(f"{NAME}text") if t.get("class") == "end"]
    assert all(float(t.get("x", "")) - ems(t.text or "") * FONT >= 0 for t in ends)


def test_numbers_can_be_read_on_every_step_of_the_scale() -> None:
    for dark in (False, True):
        for level in range(LEVELS + 1):
            colour = scale(level / LEVELS, dark=dark)
            assert contrast(ink_on(colour), colour) >= 4.5  # WCAG AA


def test_it_is_one_plain_document() -> None:
    svg = tables_svg(tables(1, VALUES, "\x00", "&"), "<b>")
    assert not re.search(r"<script|@import|url\(|<image", svg)
    assert {"\\x00", "&"} <= {t.text for t in ET.fromstring(svg).iter(f"{NAME}text")}


def test_the_png_has_the_colours_of_the_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "tables.png"
    tables_png(path, tables(), "Title", "नमस्ते")
    picture = (imread(path)[..., :3] * 255).round().astype(int)
    for level in (0, 14, 32):
        colour = np.array(channels(scale(level / LEVELS)))
        assert (np.abs(picture - colour).max(-1) <= 2).sum() > 500
    assert (picture[0] == 255).all()
