"""Labels, words and joined lines, worked out by hand."""

import doctest

from tokenizers import pre_tokenizers

from regard.text import pieces


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(pieces).failed == 0 and doctest.testmod(pieces).attempted > 0


def test_the_byte_alphabet_is_the_library_s() -> None:
    assert sorted(pieces._byte_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(pieces._byte_alphabet().values()) == list(range(256))


def test_labels() -> None:
    assert pieces.label(b" animal") == "▁animal"
    assert pieces.label(b" \xe2") == "▁‹e2›"
    assert pieces.label("é€".encode()) == "é€"
    assert pieces.label(b"\x00\n") == "\\x00\\n"


def test_white_space_belongs_to_the_word_after_it() -> None:
    groups = pieces.group_words([b" ", b" a", b"\n", b"b", b" "])
    assert groups == [("a", [0, 1]), ("b", [2, 3]), ("▁", [4])]


def test_a_special_token_stands_alone_and_splits_a_word() -> None:
    assert pieces.group_words([b"a", "<unk>", b"b"]) == [("a", [0]), ("<unk>", [1]), ("b", [2])]
    assert pieces.group_words([]) == []


def test_joined_words() -> None:
    assert pieces.join_words([]) == ""
    assert pieces.join_words(["«", "oui", "»", ",", "dit", "-", "il"]) == "«oui», dit - il"
