"""Which fonts the words of a PNG need: text goes in, font families and what is missing come out.

DejaVu Sans comes with matplotlib and has Latin, Greek and Cyrillic. For other scripts the fonts of
this machine are looked through for one that has the letters, and matplotlib falls back to it letter
by letter. Letters that no font has would be drawn as boxes, so a sentence says which they are.
"""

import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

OWN = "DejaVu Sans"
SHAPES_SINCE = (3, 11)  # of matplotlib: joins and reorders letters, as Devanagari and Arabic need
# scripts whose letters join, stack or change places
JOINED = (
    "ARABIC", "BENGALI", "DEVANAGARI", "GUJARATI", "GURMUKHI", "KANNADA", "KHMER", "MALAYALAM",
    "MYANMAR", "ORIYA", "SINHALA", "SYRIAC", "TAMIL", "TELUGU", "TIBETAN",
)  # fmt: skip
CJK = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA")
PLACEHOLDER = "lastresort"  # comes with matplotlib too: has a box for every letter there is
SHOWN = 8  # letters that a sentence lists


@dataclass(frozen=True)
class Fonts:
    """Families in the order in which a letter is looked for, and the letters that none has."""

    families: tuple[str, ...]
    missing: str = ""


def script_of(letter: str) -> str:
    """The first word of the letter's name in Unicode: DEVANAGARI, ARABIC, CJK …"""
    return unicodedata.name(letter, "UNKNOWN").split()[0]


def fonts_for(text: str) -> Fonts:
    """The fonts for one text: matplotlib's own, and one of this machine for each further script."""
    wanted = {letter for letter in text if letter.isprintable() and not letter.isspace()}
    lacking = {letter for letter in wanted if not _has(_own(), letter)}
    families = [OWN]
    for script in sorted({script_of(letter) for letter in lacking}):
        letters = frozenset(letter for letter in lacking if script_of(letter) == script)
        substitutes, rest = _families_with(script, letters)
        families += [family for family in substitutes if family not in families]
        lacking -= letters - rest
    return Fonts(tuple(families), "".join(sorted(lacking)))


def set_fonts(figure: "Figure") -> list[str]:
    """Give every text of a figure its fonts; sentences say what will not look as it should."""
    from matplotlib.text import Text

    missing, written = set[str](), set[str]()
    for text in figure.findobj(Text):
        if isinstance(text, Text):
            chosen = fonts_for(text.get_text())
            text.set_fontfamily(list(chosen.families))
            text.set_parse_math(False)  # a label may hold a dollar sign
            missing.update(chosen.missing)
            written.update(text.get_text())
    return [*_boxes(missing), *_unshaped(written - missing)]


def _boxes(missing: Iterable[str]) -> list[str]:
    """One sentence about letters that no font has."""
    letters = sorted(missing)
    if not letters:
        return []
    scripts = sorted({script_of(letter) for letter in letters})
    listed = " ".join(letters[:SHOWN]) + (" …" if len(letters) > SHOWN else "")
    named = ", ".join(script.capitalize() if script not in CJK else script for script in scripts)
    package = "fonts-noto-cjk" if set(scripts) <= set(CJK) else "fonts-noto-core"
    return [
        f"no installed font has {listed} ({named}), so boxes stand for them; install one (Debian, "
        f"Ubuntu: `apt install {package}`)"
    ]


def _unshaped(letters: Iterable[str]) -> list[str]:
    """One sentence where matplotlib is too old to join letters."""
    import matplotlib

    scripts = sorted({script_of(letter) for letter in letters} & set(JOINED))
    if not scripts or matplotlib.__version_info__[:2] >= SHAPES_SINCE:
        return []
    least = ".".join(map(str, SHAPES_SINCE))
    return [
        f"matplotlib {matplotlib.__version__} sets {scripts[0].capitalize()} letter by letter, "
        f"without joining them; install matplotlib {least} or newer"
    ]


@cache
def _own() -> "FT2Font":
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont(OWN))


def _has(font: "FT2Font", letter: str) -> bool:
    # Joiners and variation selectors are instructions; what obeys them need not draw them.
    return font.get_char_index(ord(letter)) != 0 or unicodedata.category(letter) == "Cf"


@cache
def _families_with(script: str, letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families that have the letters of a script, and the letters that are left without."""
    from matplotlib.font_manager import fontManager

    families: list[str] = []
    rest = letters
    for path in _by_likelihood(script):
        if not rest:
            break
        font = _opened(path)
        had = frozenset(letter for letter in rest if font and _has(font, letter))
        if font and had:
            if all(entry.fname != path for entry in fontManager.ttflist):
                fontManager.addfont(path)  # matplotlib's own list may be older than the font
            families.append(font.family_name)
            rest -= had
    return tuple(families), rest


def _by_likelihood(script: str) -> list[str]:
    """The fonts of this machine, first those named after the script, sans serif, upright."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    paths = {*findSystemFonts(), *(entry.fname for entry in fontManager.ttflist)}
    name = "cjk" if script in CJK else script.casefold()

    def unlikely(path: str) -> tuple[bool, bool, bool, str]:
        stem = Path(path).stem.casefold()
        return name not in stem, "sans" not in stem, "regular" not in stem, path

    real = (path for path in paths if not Path(path).stem.casefold().startswith(PLACEHOLDER))
    return sorted(real, key=unlikely)


def _opened(path: str) -> "FT2Font | None":
    """A font whose letters are outlines; None for bitmaps, which cannot be scaled, and damage."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError):
        return None
    return font if font.scalable else None


def say_once(sentences: Iterable[str], subject: str) -> None:
    """On standard error, each once: a command may draw several pictures of the same words."""
    for sentence in sentences:
        if sentence not in _SAID:
            _SAID.add(sentence)
            print(f"{subject}: {sentence}", file=sys.stderr)


_SAID: set[str] = set()
