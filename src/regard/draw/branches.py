"""A tree of words, as a picture needs it: branches have a label, leaves a label and a word."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """A label over its parts; without parts it is a leaf, and `word` stands under it."""

    label: str
    parts: tuple["Branch", ...] = ()
    word: str = ""


def depth(branch: Branch) -> int:
    """How many labels stand over each other at most."""
    return 1 + max((depth(part) for part in branch.parts), default=0)
