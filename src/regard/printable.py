"""What a file says, as it may be printed: without the characters that speak to a terminal.

A file name, a label or a translation can hold ESC and what follows it: a terminal then changes its
title, its colours or the lines that stand there already, or shows text in another order than it
has. Such characters are printed as their numbers, in the notation of JSON:

    U+0000 … U+001F   control characters of ASCII; line feed and tab stay
    U+007F … U+009F   delete, and the second set of control characters, where U+009B is ESC [
    U+202A … U+202E, U+2066 … U+2069   overrides of the direction of writing
    U+D800 … U+DFFF   halves of a pair: bytes of a file name that are no text

The marks of direction that Arabic and Hebrew texts need, and the joiners of Hindi, stay as they
are. JSON keeps its meaning: inside of its quotes the number stands for the very character.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

Say = Callable[[str], None]  # hears, line by line, what takes a while and what was chosen
Advance = Callable[[int], None]  # hears how many more are done, as a progress bar does
to_log: Say = logging.getLogger("regard").info
_SPEAKING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def unheard(count: int) -> None:
    """Nobody wants to know how many more are done."""


def printable(text: str) -> str:
    """The text, control characters as \\u001b."""
    return _SPEAKING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable_name(name: str) -> str:
    """The same for what stands in a line, where a line feed of its own would forge another one."""
    return printable(name).replace("\n", "\\u000a").replace("\t", "\\u0009")


def counted(number: int, noun: str) -> str:
    """A count in words for a person: "1 layer", "2 layers", "1,000 pairs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class NamedStream:
    """A text stream to print to, whose errors name it, or do not matter."""

    def __init__(self, stream: TextIO, name: str, matters: bool) -> None:
        self.below, self._name, self._matters = stream, name, matters

    def write(self, text: str) -> int:
        """As the stream does."""
        with self._naming():
            self.below.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """As the stream does."""
        with self._naming():
            self.below.flush()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._matters:
                error.filename = error.filename or self._name
                raise

    def let_go(self) -> None:
        """Nothing is left to be written when Python ends, which would tell it in its own words."""
        try:
            self.below.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.below.fileno())
            os.close(null)
            self.below.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


class Careful(NamedStream):
    """One through which no text speaks to a terminal; `plain` is the way past it.

    It is for what makes its texts printable itself, as a console with colours does
    (draw/terminal/console.py).
    """

    def __init__(self, stream: TextIO, name: str, matters: bool) -> None:
        super().__init__(stream, name, matters)
        self.plain = NamedStream(stream, name, matters)

    def write(self, text: str) -> int:
        """The text, printable."""
        super().write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # click would write past this
            raise AttributeError(name)
        return super().__getattr__(name)
