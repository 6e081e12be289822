"""Labels: any string goes in, a string that is safe to show comes out, with its width.

Pieces of a vocabulary may be `<s>`, a bare space, a newline, half a surrogate pair or a character
that turns the reading direction around. A picture must show them, a terminal must not obey them,
and XML forbids some of them. Widths come in two kinds: terminal cells (exact, from rich) and ems
of a proportional typeface (a cautious estimate, since no font is opened here).
"""

import unicodedata

from rich.cells import cell_len

ELLIPSIS = "…"
_JOINERS = "\u200c\u200d"  # Devanagari and emoji need them between letters
_KNOWN_KEYS = {"\n": "↵", "\t": "⇥"}
_NARROW = frozenset("iljtfrI.,:;'`|!()[]/\\-·\"1 ")
_BROAD = frozenset("mwMWOQGDHNU@%&—…<>+=▁")


def visible(label: str) -> str:
    """`label` with everything invisible, obeyed or illegal replaced by something to look at."""
    shown = "".join(_visible_character(character) for character in label)
    core = shown.strip(" ")
    if core == shown:
        return shown
    if not core:
        return "␣" * len(shown)
    start = shown.index(core)
    return "␣" * start + core + "␣" * (len(shown) - start - len(core))


def _visible_character(character: str) -> str:
    code = ord(character)
    if character in _KNOWN_KEYS:
        return _KNOWN_KEYS[character]
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    category = unicodedata.category(character)
    if category == "Cs" or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    if category in ("Cc", "Zl", "Zp") or (category == "Cf" and character not in _JOINERS):
        return f"\\u{code:04x}"
    return " " if category == "Zs" else character


def graphemes(label: str) -> list[str]:
    """What a reader calls letters: a base character with its marks, or several that are joined."""
    letters: list[str] = []
    for character in label:
        mark = character in _JOINERS or unicodedata.category(character) in ("Mn", "Mc", "Me")
        if letters and (mark or letters[-1].endswith(_JOINERS[1])):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def shorten_cells(label: str, cells: int) -> str:
    """`label` cut to at most `cells` terminal cells, with an ellipsis when something is lost."""
    if cell_len(label) <= cells:
        return label
    kept, used = "", 0
    for letter in graphemes(label):
        used += cell_len(letter)
        if used > cells - 1:
            break
        kept += letter
    return kept + ELLIPSIS


def pad_left(label: str, cells: int) -> str:
    """`label` at the right end of so many terminal cells."""
    return " " * (cells - cell_len(label)) + label


def ems(label: str) -> float:
    """Estimated width in ems, never much too small: a margin that is too wide clips nothing."""
    return sum(_character_ems(character) for character in label)


def _character_ems(character: str) -> float:
    code = ord(character)
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3 if code >= 0x1F000 else 1.02
    if category == "Mc":
        return 0.42
    if code >= 0x0900:
        return 0.8
    if character in _NARROW:
        return 0.4
    return 0.88 if character in _BROAD else 0.7 if character.isupper() else 0.62


def shorten_ems(label: str, limit: float | int) -> str:
    """`label` cut to at most `limit` ems, with an ellipsis when something is lost."""
    if ems(label) <= limit:
        return label
    kept = ""
    for letter in graphemes(label):
        if ems(kept + letter + ELLIPSIS) > limit:
            break
        kept += letter
    return kept + ELLIPSIS


def wrap_ems(text: str, limit: float | int) -> list[str]:
    """`text` broken at spaces into lines of at most `limit` ems; no lines for no text."""
    lines: list[str] = []
    for word in visible(text.strip()).split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and ems(joined) <= limit:
            lines[-1] = joined
        else:
            lines.append(shorten_ems(word, limit))
    return lines
