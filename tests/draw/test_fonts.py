"""Fonts by script: one of the machine that has the letters, or a sentence that none has them."""

import warnings
from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from matplotlib import font_manager  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from regard.draw.figure import fonts  # noqa: E402
from regard.draw.figure.fonts import OWN, fonts_for, set_fonts  # noqa: E402
from regard.draw.figure.heat_map import heat_map  # noqa: E402
from regard.draw.figure.png import write_png  # noqa: E402
from regard.draw.grid import make_grid  # noqa: E402

KA = "क"


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no fonts but those that matplotlib brings along."""
    own = str(Path(matplotlib.get_data_path()))
    entries = [e for e in font_manager.fontManager.ttflist if e.fname.startswith(own)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    monkeypatch.setattr(fonts, "_SAID", set())
    fonts._families_with.cache_clear()


@pytest.fixture
def tiny_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A font with one letter of Devanagari, a square, installed after matplotlib made its list."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    for start, *others in [[(0, 0), (0, 700), (700, 700), (700, 0)]]:
        pen.moveTo(start)
        for point in others:
            pen.lineTo(point)
        pen.closePath()
    square = pen.glyph()
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder([".notdef", "ka"])
    made.setupCharacterMap({ord(KA): "ka"})
    made.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "ka": square})
    made.setupHorizontalMetrics({".notdef": (500, 0), "ka": (800, 0)})
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "Tiny Letters", "styleName": "Regular"})
    made.setupOS2()
    made.setupPost()
    path = tmp_path / "tiny-devanagari.ttf"
    made.save(path)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(path)])
    return path


def draw(path: Path, label: str) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_png(path, heat_map(make_grid(np.ones((1, 1)), [label], ["a"]), "Title"))
    return path.read_bytes()


def test_latin_needs_no_other_font() -> None:
    assert fonts_for("Wie geht's? → ▁gut ₁ ж λ") == fonts.Fonts((OWN,))


def test_a_font_that_has_the_letter_is_found(tiny_font: Path) -> None:
    assert fonts_for(f"a {KA}") == fonts.Fonts((OWN, "Tiny Letters"))
    assert fonts_for(f"{KA}ख") == fonts.Fonts((OWN, "Tiny Letters"), "ख")


def test_it_is_drawn_with_that_font_and_nothing_is_said(
    tiny_font: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_font = draw(tmp_path / "a.png", KA)
    assert capsys.readouterr().err == ""
    others = [e for e in font_manager.fontManager.ttflist if e.name != "Tiny Letters"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", others)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    fonts._families_with.cache_clear()
    assert draw(tmp_path / "b.png", KA) != with_font


def test_without_a_font_one_sentence_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw(tmp_path / "a.png", "क्या")
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "no installed font has" in said and "Devanagari" in said
    assert "fonts-noto-core" in said and "--svg" in said
    draw(tmp_path / "a.png", "क्या")
    assert capsys.readouterr().err == ""  # once


def test_chinese_comes_with_another_package() -> None:
    figure = Figure()
    figure.text(0, 0, "猫")
    assert "fonts-noto-cjk" in set_fonts(figure)[0]


def test_an_old_matplotlib_does_not_join_letters(
    tiny_font: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = Figure()
    figure.text(0, 0, KA)
    assert set_fonts(figure) == []
    monkeypatch.setattr(matplotlib, "__version_info__", (3, 10, 3))
    assert "sets Devanagari letter by letter" in set_fonts(figure)[0]


def test_a_damaged_font_is_passed_by(tiny_font: Path) -> None:
    tiny_font.write_bytes(b"no font")
    assert fonts_for(KA).missing == KA
