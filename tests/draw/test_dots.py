"""Dot grids: the right dot in the right place, areas in proportion, labels that line up."""

import io
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.draw.figure.canvas import BLUE
from regard.draw.figure.dots import dots
from regard.draw.figure.png import write_png
from regard.draw.figure.svg import svg
from regard.draw.grid import make_grid
from regard.draw.palette import channels
from regard.draw.terminal.dots import DotGrid

NAME = "{http://www.w3.org/2000/svg}"
WEIGHTS = np.array([[0.9, 0.0, 0.25], [0.05, 0.5, math.nan]])
ROWS, COLUMNS = ["I", "ice-cream"], ["मुझे", "आइसक्रीम", "है"]


def printed(*, width: int = 80, **more: Any) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, _environ={})
    console.print(
        DotGrid(
            make_grid(
                more.get("weights", WEIGHTS), more.get("rows", ROWS), more.get("columns", COLUMNS)
            ),
            more.get("title", ""),
        )
    )
    return file.getvalue().splitlines()


def dot_cells(line: str) -> list[tuple[int, str]]:
    """Each dot with the terminal cell in which it stands."""
    return [(cell_len(line[:i]), c) for i, c in enumerate(line) if c in "·•●⬤"]


def test_dots_grow_with_the_weight_and_stand_under_their_word() -> None:
    head, first, second = printed()[:3]
    assert [dot for _, dot in dot_cells(first)] == ["⬤", "·", "●"]
    assert [dot for _, dot in dot_cells(second)] == ["•", "⬤"]  # no value, no dot
    for column, word in enumerate(COLUMNS):
        begin = cell_len(head[: head.index(word)])
        assert begin <= dot_cells(first)[column][0] < begin + cell_len(word)
    assert first.startswith("        I  ") and second.startswith("ice-cream  ")
    assert printed()[-1].strip() == "· 0  • .05  ● .25  ⬤ .50 … 1"


@pytest.mark.parametrize("width", [24, 40, 80])
def test_wide_grids_split_into_blocks_that_fit(width: int) -> None:
    columns = [f"word{i}" for i in range(30)]
    lines = printed(weights=np.full((2, 30), 1.0), rows=["a", "b"], columns=columns, width=width)
    assert max(cell_len(line) for line in lines[:-1]) <= width
    assert sum(line.count("⬤") for line in lines[:-1]) == 60
    assert [word for line in lines for word in line.split() if word.startswith("word")] == columns


def test_a_long_title_is_broken_and_not_cut() -> None:
    title = "cross-attention, layer 4, mean of all heads"
    lines = printed(title=title, width=30)
    assert max(cell_len(line.rstrip()) for line in lines) <= 30
    assert " ".join("\n".join(lines).split("\n\n")[0].split()) == title


def test_ascii_streams_get_ascii_and_labels_are_not_markup() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    grid = DotGrid(make_grid(WEIGHTS[:, :2], ["[red]", "\x1b[2J"], ["ä", "b"]), "[b]")
    Console(file=file, width=80, color_system=None).print(grid)
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "[red]" in text and "[b]" in text and "\x1b" not in text and "@" in text


def test_the_area_of_a_circle_is_the_weight() -> None:
    weights = np.array([[1.0, 0.25], [0.0, math.nan]])
    text = svg(dots(make_grid(weights, ["a", "b"], ["c", "d"]), "T", "S"))
    root = ET.fromstring(text)
    radii = [float(circle.get("r", "")) for circle in root.iter(f"{NAME}circle")][:3]
    assert radii[1] == pytest.approx(radii[0] / 2) and radii[2] == 0  # half as wide: a quarter
    tips = [group.findtext(f"{NAME}title") for group in root.iter(f"{NAME}g")]
    assert tips == ["c → a: 1.000", "d → a: 0.250", "c → b: 0.000", "d → b: no value"]
    assert "c: mostly a (1.000)" in (root.findtext(f"{NAME}desc") or "")
    assert "Noto Sans Devanagari" in text and "prefers-color-scheme:dark" in text


@pytest.mark.parametrize("side", [1, 3, 12, 40])
def test_nothing_leaves_the_picture(side: int) -> None:
    labels = [f"आइसक्रीम{i}" for i in range(side)]
    root = ET.fromstring(svg(dots(make_grid(np.ones((side, side)), labels, labels), "")))
    width, height = (float(root.get(edge, "0")) for edge in ("width", "height"))
    circles = [[float(c.get(k, "")) for k in ("cx", "cy", "r")] for c in root.iter(f"{NAME}circle")]
    assert len(circles) == side * side + 4
    assert all(r <= x <= width - r - 20 and r <= y <= height - r - 5 for x, y, r in circles)


def test_labels_are_escaped() -> None:
    nasty = ["<s>", "&amp;", "\x00", "\ud800"]
    root = ET.fromstring(svg(dots(make_grid(np.eye(4), nasty, nasty), "<b>")).encode("utf-8"))
    assert {"<s>", "&amp;", "\\x00"} <= {t.text for t in root.iter(f"{NAME}text")}


def test_the_png_has_large_and_small_dots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "dots.png"
    grid = make_grid(np.array([[1.0, 0.25]]), ["a"], ["b", "c"])
    write_png(path, dots(grid, "Title", "नमस्ते"))
    picture = (imread(path)[..., :3] * 255).round().astype(int)
    painted = (np.abs(picture - np.array(channels(BLUE.light))).max(-1) <= 2).any(axis=0)
    runs = np.flatnonzero(np.diff(np.concatenate([[0], painted.astype(int), [0]])))
    assert len(runs) >= 4 and (picture[0] == 255).all()
