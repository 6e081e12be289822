"""Standard input, output and error, as every command may rely on them.

open       one that was closed (`<&-`, `>&-`, `2>&-`) becomes the null device. Else the next
           file that is opened would get its number, and what libraries and child processes
           print would be written into that file
complete   they take every character
careful    whatever is printed, by whomever, is made printable on its way (printable.py)
named      an error says which of them it is; standard error has none: the work goes on
"""

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

from regard.printable import printable


class Named:
    """A text stream to print to, whose errors name it, or do not matter."""

    def __init__(self, stream: TextIO, name: str, matters: bool) -> None:
        self._stream, self._name, self._matters = stream, name, matters

    def write(self, text: str) -> int:
        """As the stream does."""
        with self._naming():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """As the stream does."""
        with self._naming():
            self._stream.flush()

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
            self._stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Careful(Named):
    """One through which no text speaks to a terminal."""

    def __init__(self, stream: TextIO, name: str, matters: bool) -> None:
        super().__init__(stream, name, matters)
        self.plain = Named(stream, name, matters)

    def write(self, text: str) -> int:
        """The text, printable."""
        super().write(printable(text))
        return len(text)

    @property
    def rich_proxied_file(self) -> Named:
        """What a console of rich asks for, which has colours and is careful itself."""
        return self.plain

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # click would write past this
            raise AttributeError(name)
        return super().__getattr__(name)


def echo_answer(text: str, nl: bool = True) -> None:
    """Print what a model wrote: careful on a terminal, as it is into a pipe or a file.

    click would take colours out of it there.
    """
    stream: Any = sys.stdout
    if isinstance(stream, Careful) and not stream.isatty():
        stream = stream.plain
    stream.write(text + "\n" * nl)
    stream.flush()


@contextmanager
def prepared() -> Iterator[None]:
    """The three streams, while a command runs."""
    _open_closed_ones()
    _write_every_character()
    before = sys.stdout, sys.stderr
    out = Careful(sys.stdout, "standard output", matters=True)
    error = Careful(sys.stderr, "standard error", matters=False)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, error)
    try:
        yield
    finally:
        for stream in (out, error):
            with suppress(OSError, ValueError):  # ValueError: somebody has closed it
                stream.let_go()
        sys.stdout, sys.stderr = before


def _open_closed_ones() -> None:
    """The null device under each of the numbers 0, 1 and 2 that is free; then Python's streams."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:  # the lowest free number, on most systems this one
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)  # child processes need it as much
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null_file = open(os.devnull, mode, encoding="utf-8", errors="replace")  # noqa: SIM115
            setattr(sys, name, null_file)  # to the end of the process


def _write_every_character() -> None:
    """Windows gives a pipe or a file an old code page, which has neither → nor Hindi: UTF-8 there.

    A terminal of another kind shows what it can.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")
