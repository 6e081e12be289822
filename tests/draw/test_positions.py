"""Pictures of the sinusoids: what they say about themselves, and that nothing is lost or cut."""

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.draw import palette
from regard.draw.figure.png import write_png
from regard.draw.figure.positions import MOST_IN_PNG, positions
from regard.draw.figure.svg import svg
from regard.draw.terminal.positions import PositionFigures, PositionReport

NAME = "{http://www.w3.org/2000/svg}"


def made(length: int, dim: int) -> PositionFigures:
    """The definition written out with numpy, apart from the model's own function."""
    place, pair = np.meshgrid(np.arange(length), np.arange(dim) // 2, indexing="ij")
    angle = place / 10000 ** (2 * pair / dim)
    table = np.where(np.arange(dim) % 2 == 0, np.sin(angle), np.cos(angle))
    waves = tuple(float(2 * np.pi * 10000 ** (2 * i / dim)) for i in range(dim // 2))
    return PositionFigures(table, table @ table[0], table.std(axis=0), waves, 10_000.0)


def printed(figures: PositionFigures, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Console(file=file, width=width, color_system=None, _environ={}).print(
        PositionReport(figures), highlight=False
    )
    file.flush()
    return raw.getvalue().decode(encoding)


def test_the_report_has_the_numbers_of_the_notes() -> None:
    text = printed(made(50, 128))
    for k, value in ((0, "64.0000"), (1, "62.0937"), (2, "57.3819"), (5, "47.1850")):
        assert re.search(rf"^k = {k} +{value} █", text, re.MULTILINE)
    assert re.search(r"^dim 0 +0\.7077\d\d █", text, re.MULTILINE)
    assert re.search(r"^dim 127 +0\.000005$", text, re.MULTILINE)
    assert "(every 2nd position, every 2nd pair)" in text


@pytest.mark.parametrize(("length", "last"), [(1, 0), (2, 1), (8, 7), (50, 49), (90, 89)])
def test_distances_go_up_to_the_last(length: int, last: int) -> None:
    shown = [int(k) for k in re.findall(r"^k = (\d+)", printed(made(length, 6)), re.MULTILINE)]
    assert shown[0] == 0 and shown[-1] == last and shown == sorted(set(shown))


def test_bits_stand_beside_sines() -> None:
    lines = printed(made(50, 128)).splitlines()
    start = next(i for i, line in enumerate(lines) if "8  4  2  1" in line)
    rows = [line.split() for line in lines[start + 1 : start + 17]]
    assert [int("".join(row[1:5]), 2) for row in rows] == list(range(16))
    assert rows[4][-1] == "-0.76"  # sin 4
    changes = [sum(a[c] != b[c] for a, b in zip(rows, rows[1:], strict=False)) for c in range(1, 5)]
    assert changes == [1, 3, 7, 15]  # a bit further left changes half as often
    signs = [[row[c][0] for row in rows] for c in range(5, 9)]
    turns = [sum(a != b for a, b in zip(s, s[1:], strict=False)) for s in signs]
    assert turns == sorted(turns) and turns[-1] == 4  # sin p turns at π, 2π, 3π, 4π < 15
    assert lines[start + 17].endswith("16  8  4  2       47.1     26.5     12.9      6.3")


@pytest.mark.parametrize(("length", "dim"), [(1, 2), (3, 6), (50, 128), (2000, 512)])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_report_fits_every_width(length: int, dim: int, width: int) -> None:
    lines = printed(made(length, dim), width).splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert len(lines) <= 110
    assert "dimension over the positions" in " ".join(" ".join(lines).split())  # no heading is cut


def test_small_tables_are_shown_whole() -> None:
    text = printed(made(16, 6))
    assert "(every" not in text and "the first" not in text
    assert re.search(r"^15 [ ░▒▓█]+$", text, re.MULTILINE)


def test_without_colour_or_unicode_it_is_still_readable() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="replace")
    Console(file=file, width=80, color_system=None).print(PositionReport(made(8, 8)))
    file.flush()
    assert b"####" in raw.getvalue()


@pytest.mark.parametrize(("length", "dim"), [(1, 2), (50, 128), (1000, 512)])
def test_the_svg_is_well_formed_and_holds_every_panel(length: int, dim: int) -> None:
    figures = made(length, dim)
    text = svg(positions(figures))
    root = ET.fromstring(text)
    texts = [t.text or "" for t in root.iter(f"{NAME}text")]
    for name in ("Table:", "Waves:", "PE(p) · PE(p+k)", "Standard deviation"):
        assert any(said.startswith(name) for said in texts)
    assert not re.search(r"<script|@import|url\(|<image|NaN|nan|inf", text)
    assert len(text) < 400_000
    assert any("every 8th position" in said for said in texts) == (length == 1000)


def test_the_strokes_of_the_svg_cover_every_cell_once() -> None:
    root = ET.fromstring(svg(positions(made(50, 128))))
    group = next(g for g in root.iter(f"{NAME}g") if g.get("class") == "raster")
    covered = np.zeros((50, 128), dtype=int)
    for path in group.iter(f"{NAME}path"):
        for x, y, n in re.findall(r"M(\d+)\.5 (\d+)v([\d.]+)", path.get("d", "")):
            covered[int(y) : int(y) + int(float(n)), int(x)] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize(("length", "dim"), [(1, 2), (50, 128)])
def test_the_png_shows_both_series(tmp_path: Path, length: int, dim: int) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "positions.png"
    write_png(path, positions(made(length, dim), MOST_IN_PNG))
    picture = (imread(path)[..., :3] * 255).round().astype(int)
    assert picture.shape == (1360, 1920, 3) and (picture[:8] == 255).all()
    for colour in (palette.TRAINING, palette.VALIDATION):
        near = np.abs(picture - np.array(palette.channels(colour))).max(-1) <= 2
        assert near.sum() > 20
