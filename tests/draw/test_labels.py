"""Labels: what cannot be seen or must not be obeyed is shown; widths are never too small."""

import pytest

from regard.draw.labels import ems, graphemes, shorten_cells, shorten_ems, visible, wrap_ems


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("the", "the"),
        ("<s>", "<s>"),
        ("\n", "↵"),
        ("a\tb", "a⇥b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x7f", "\\x00\\x7f"),
        ("\u202eabc", "\\u202eabc"),
        ("\x85", "\\u0085"),
        ("\ud800", "\ufffd"),
        ("\uffff", "\ufffd"),
        (" the ", "␣the␣"),
        ("  ", "␣␣"),
        ("", ""),
        ("a\u00a0b", "a b"),
        ("क्\u200dष", "क्\u200dष"),  # the joiner belongs to the letter
    ],
)
def test_visible(raw: str, shown: str) -> None:
    assert visible(raw) == shown


def test_letters_of_devanagari_stay_whole() -> None:
    assert "".join(graphemes("नमस्ते")) == "नमस्ते"
    assert len(graphemes("कि")) == 1


def test_shortening_counts_wide_characters_twice() -> None:
    assert shorten_cells("attention", 20) == "attention"
    assert shorten_cells("attention", 5) == "atte…"
    assert shorten_cells("注意力机制", 6) == "注意…"


def test_ems() -> None:
    assert ems("注意") > 2
    assert ems("कि") < ems("क") + ems("a")
    assert 0 < ems("ill") < ems("mmm")
    assert ems(shorten_ems("internationalization" * 3, 10)) <= 10
    assert shorten_ems("it", 10) == "it"


def test_wrapping() -> None:
    assert wrap_ems("", 10) == [] and wrap_ems("  \n", 10) == []
    lines = wrap_ems("a picture of every head in the second layer of the decoder", 12)
    assert len(lines) > 1 and all(ems(line) <= 12 for line in lines)
