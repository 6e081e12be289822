"""Sentences of paragraphs written by hand, and that no character is ever lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import MisuseError
from regard.text.sentences import WINDOW, split_sentences


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("How are you?", "en", ["How are you?"]),
        ("Dr. Smith came at 3 p.m. on Monday. He slept.", "en", None),
        ("One.  Two!\tThree? ", "en", ["One.", "Two!", "Three?"]),
        ('He said "Go. Now." and left. She stayed.', "en", None),
        ("राम घर गया। वह सो गया।", "hi", ["राम घर गया।", "वह सो गया।"]),
        ("今日は晴れ。明日は雨。", "ja", ["今日は晴れ。", "明日は雨。"]),
        ("No spaces.here", "en", ["No spaces.here"]),
        ("Das kostet z. B. 3,50 Euro. Das ist viel.", "de", None),
        ("", "en", []),
        (" \t ", "en", []),
    ],
)
def test_sentences_by_hand(text: str, language: str, expected: list[str] | None) -> None:
    parts = split_sentences(text, language)
    assert "".join(parts) == text
    if expected is None:  # two sentences, whose inner full stops end none
        assert len(parts[1::2]) == 2
    else:
        assert parts[1::2] == expected


@settings(max_examples=200)
@given(st.text(st.sampled_from("aB.!?। \n\t\"'“”()„«»…。\u2028\x1c\ud800😀ا"), max_size=80))
def test_nothing_is_lost(text: str) -> None:
    parts = split_sentences(text)
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(part == part.strip() != "" for part in parts[1::2])
    assert not "".join(parts[0::2]).strip()


def test_a_sentence_may_cross_the_windows() -> None:
    """The same sentences, wherever the windows happen to end."""
    sentences = [f"Sentence number {n} is here." for n in range(2000)]
    assert split_sentences(" ".join(sentences))[1::2] == sentences
    long = "word " * (WINDOW // 2) + "end."
    assert split_sentences(f"{long} Next one. {long}")[1::2] == [long, "Next one.", long]


@pytest.mark.parametrize("unit", ["a", ".", '"(“ ', "This is a sentence. ", "« ", " ", "\ud800"])
def test_a_megabyte_is_split_at_once(unit: str) -> None:
    """Open quotation marks took the library 35 seconds a megabyte before there were windows."""
    text = unit * (1_000_000 // len(unit))
    assert "".join(split_sentences(text)) == text


def test_a_language_is_a_code() -> None:
    text = "Das kostet z. B. 3,50 Euro. Das ist viel."
    assert split_sentences(text, "DE") == split_sentences(text, "de")
    for code in ("", "d", "german", "de-AT", "e1"):
        with pytest.raises(MisuseError, match=f"language: got '{code.lower()}', expected a code"):
            split_sentences(text, code)


@pytest.mark.parametrize("space", "\u00a0\u0085\u1680\u2009\u2028\u2029\u202f\u3000")
def test_spaces_beyond_ascii_before_a_full_stop(space: str) -> None:
    """With these the library itself panics."""
    text = f"A{space}. Vraiment{space}! Oui."
    assert "".join(split_sentences(text, "fr")) == text
