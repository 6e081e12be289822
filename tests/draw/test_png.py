"""PNG files: they open, have the planned size, show what the SVG shows, and need matplotlib."""

import builtins
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.draw import palette
from regard.draw.figure.canvas import Picture
from regard.draw.figure.dots import dots
from regard.draw.figure.heat_map import heat_map
from regard.draw.figure.layout import Plan
from regard.draw.figure.loss_curve import loss_curve_png
from regard.draw.figure.png import MissingMatplotlib, write_png
from regard.draw.figure.svg import svg
from regard.draw.grid import make_grid
from regard.errors import RegardError

NAME = "{http://www.w3.org/2000/svg}"
ROWS, COLUMNS = ["weil", "es"], ["because", "it", "was"]
WEIGHTS = np.array([[[0.9, 0.03, 0.0], [np.nan, 0.5, 0.2]], [[0.1, 0.8, 0.3], [0.6, 0.7, 1.0]]])


def opened(path: Path) -> Any:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    return (imread(path)[..., :3] * 255).round().astype(int)


def has(picture: Any, colour: str) -> bool:
    return bool((np.abs(picture - np.array(palette.channels(colour))).max(-1) <= 2).sum() > 20)


@pytest.mark.parametrize(
    "picture",
    [
        heat_map(make_grid(WEIGHTS[0], ROWS, COLUMNS), "Title"),
        heat_map(make_grid(WEIGHTS, ROWS, COLUMNS), "Title", "Subtitle", ["one", "two"]),
        dots(make_grid(WEIGHTS[0], ROWS, COLUMNS), "Title"),
    ],
)
def test_the_file_has_the_colours_of_the_svg_at_their_places(
    picture: Picture, tmp_path: Path
) -> None:
    """The lower right part of each rectangle, where neither a number nor the next one stands."""
    write_png(tmp_path / "picture.png", picture)
    dots_of_png = opened(tmp_path / "picture.png")
    root = ET.fromstring(svg(picture))
    light = (root.findtext(f"{NAME}style") or "").split("@media")[0]
    fills = dict(re.findall(r"\.regard-map \.(c\d+)\{fill:(#[0-9a-f]{6})", light))
    groups = list(root.iter(f"{NAME}g"))
    assert len(groups) in (6, 12)
    for group in groups:
        rect = group.find(f"{NAME}rect")
        assert rect is not None
        x, y, width, height = (float(rect.get(k, "")) for k in ("x", "y", "width", "height"))
        dot = dots_of_png[int(2 * (y + height) - 4), int(2 * (x + width) - 4)]
        assert tuple(dot) == palette.channels(fills[rect.get("class", "").split()[0]])


@pytest.mark.parametrize("side", [1, 60])
def test_heatmap_has_the_planned_size_and_colours(tmp_path: Path, side: int) -> None:
    labels = [f"$x_{i}$" if i else "<s>" for i in range(side)]
    path = tmp_path / "map.png"
    write_png(path, heat_map(make_grid(np.eye(side), labels, labels), "Title"))
    drawing = Plan(make_grid(np.eye(side)[None], labels, labels, 1.0), "Title", "")
    picture = opened(path)
    assert picture.shape == (2 * drawing.height, 2 * drawing.width, 3)
    x, y = (int(2 * (edge + 3)) for edge in (drawing.left, drawing.top))
    assert tuple(picture[y, x]) == palette.channels(palette.scale(1))
    if side > 1:
        right = x + int(2 * drawing.cell)
        assert tuple(picture[y, right]) == palette.channels(palette.scale(0))
        assert tuple(picture[y + int(2 * drawing.cell), right]) == tuple(picture[y, x])
    assert has(picture, palette.LIGHT.ink) and (picture[0] == 255).all()


def test_scripts_without_a_font_do_not_warn(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    grid = make_grid(np.eye(2), ["注意", "स्कूल"], ["\U0001f600", "b"])
    write_png(tmp_path / "map.png", heat_map(grid, "ꙮ"))
    assert not [w for w in recwarn if "Glyph" in str(w.message)]


def test_without_matplotlib_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingMatplotlib, match=r'pip install "regard\[train\]"'):
        loss_curve_png(tmp_path / "x.png", [1], [1.0])
    with pytest.raises(RegardError):  # a command says it in a sentence
        write_png(tmp_path / "x.png", heat_map(make_grid(np.eye(1), ["a"], ["b"]), ""))


def test_pyplot_is_never_imported(tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    write_png(tmp_path / "map.png", heat_map(make_grid(np.eye(1), ["a"], ["b"]), ""))
    assert before or "matplotlib.pyplot" not in sys.modules
