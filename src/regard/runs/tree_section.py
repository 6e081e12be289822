"""The keys of objective "parse": which trees of the file, and what of them is learned."""

from dataclasses import dataclass
from typing import Literal

from regard.errors import ConfigError


@dataclass(frozen=True)
class ParseSection:
    """`train`, `valid` and `test` are numbers of trees of data.texts, from 1: "1-3522"; "" are all
    that no other key names, or none.
    """

    train: str = ""
    valid: str = ""
    test: str = ""
    tags: bool = True
    words: Literal["plain", "penn"] = "plain"

    def __post_init__(self) -> None:
        for name in ("train", "valid", "test"):
            if vars(self)[name] and numbers_of(vars(self)[name]) is None:
                expected = 'numbers of trees from 1, first and last: "1-3522"'
                raise ConfigError(name, got=vars(self)[name], expected=expected)


def numbers_of(text: str) -> range | None:
    """What a range like "1-3522" means, as places from 0; None if it is none."""
    first, dash, last = text.partition("-")
    is_number = [part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last)]
    if not dash or not all(is_number):
        return None
    places = range(int(first) - 1, int(last))
    return places if places.start >= 0 and len(places) else None
