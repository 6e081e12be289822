"""Tables as pictures: every number is there, inside the page, in readable ink."""

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from regard.draw.figure import tables as figure
from regard.draw.figure.canvas import LEVELS, MISSING, SMALL_SIZE, Rect, Text
from regard.draw.figure.canvas import scale as coloured
from regard.draw.figure.png import write_png
from regard.draw.figure.svg import svg
from regard.draw.labels import ems
from regard.draw.palette import channels, contrast, ink_on, scale
from regard.draw.terminal.tables import NumberTable

NAME = "{http://www.w3.org/2000/svg}"
VALUES = np.array([[-11.15, 0.5], [math.nan, 14.7]])


def tables(count: int = 2, values: np.ndarray = VALUES, *labels: str) -> list[NumberTable]:
    rows = list(labels) or ["▁Hi", "<s>"]
    return [NumberTable(values, rows, rows, f"table {i}") for i in range(count)]


def test_every_number_and_label_is_there() -> None:
    picture = figure.tables(tables(), "T", "S")
    root = ET.fromstring(svg(picture))
    texts = [text.text for text in root.iter(f"{NAME}text")]
    for word, times in (("-11.15", 2), ("0.50", 2), ("14.70", 2), ("–", 2), ("<s>", 4), ("T", 1)):
        assert texts.count(word) == times, word
    fills = [shape.fill for shape in picture.shapes if isinstance(shape, Rect)][:4]
    assert fills == [coloured(0), coloured(29 / 64), MISSING, coloured(1)]
    assert round((0.5 + 11.15) / (14.7 + 11.15) * LEVELS) == 29


@pytest.mark.parametrize("side", [1, 5, 30])
@pytest.mark.parametrize("word", ["it", "internationalization", "आइसक्रीम"])
def test_nothing_leaves_the_page_and_labels_do_not_meet(side: int, word: str) -> None:
    made = tables(3, np.full((side, side), -100.25), *[word] * side)
    root = ET.fromstring(svg(picture := figure.tables(made, "A title", "a subtitle")))
    width, height = (float(root.get(edge, "0")) for edge in ("width", "height"))
    cells = list(root.iter(f"{NAME}rect"))[1:]
    assert len(cells) == 3 * side * side
    for cell in cells:
        x, y, w, h = (float(cell.get(k, "")) for k in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
    texts = [shape for shape in picture.shapes if isinstance(shape, Text)]
    heads = [text for text in texts if text.anchor == "middle" and text.text != "-100.25"]
    assert len(heads) == 3 * side
    assert all(ems(t.text) * SMALL_SIZE <= float(cells[0].get("width", "")) for t in heads)
    ends = [text for text in texts if text.anchor == "end"]
    assert len(ends) == 3 * side and all(t.x - ems(t.text) * SMALL_SIZE >= 0 for t in ends)


def test_numbers_can_be_read_on_every_step_of_the_scale() -> None:
    for dark in (False, True):
        for level in range(LEVELS + 1):
            colour = scale(level / LEVELS, dark=dark)
            assert contrast(ink_on(colour), colour) >= 4.5  # WCAG AA


def test_it_is_one_plain_document() -> None:
    text = svg(figure.tables(tables(1, VALUES, "\x00", "&"), "<b>"))
    assert not re.search(r"<script|@import|url\(|<image", text)
    assert {"\\x00", "&"} <= {t.text for t in ET.fromstring(text).iter(f"{NAME}text")}


def test_the_png_has_the_colours_of_the_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "tables.png"
    write_png(path, figure.tables(tables(), "Title", "नमस्ते"))
    picture = (imread(path)[..., :3] * 255).round().astype(int)
    for level in (0, 29, 64):
        colour = np.array(channels(scale(level / LEVELS)))
        assert (np.abs(picture - colour).max(-1) <= 2).sum() > 500
    assert (picture[0] == 255).all()
