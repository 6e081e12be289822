"""Counts in words, as they are printed."""

from regard.printable import counted


def test_one_is_singular_and_thousands_have_commas() -> None:
    found = [counted(number, "layer") for number in (0, 1, 2, 30_430)]
    assert found == ["0 layers", "1 layer", "2 layers", "30,430 layers"]
