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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

from regard.printable import Careful

MARKS = (("«", "»"), ("⟦", "⟧"))  # the second for texts that quote with the first


def marks_for(text: str) -> tuple[str, str]:
    """What words of a text are put between where no terminal shows them bold: not its own marks."""
    return next(pair for pair in MARKS if not {*pair} & {*text} or pair == MARKS[-1])


def echo_answer(text: str, nl: bool = True) -> None:
    """Print what a model wrote: careful on a terminal, as it is into a pipe or a file.

    click would take colours out of it there.
    """
    stream: Any = sys.stdout
    if isinstance(stream, Careful) and not stream.isatty():
        stream = stream.plain
    stream.write(text + "\n" * nl)
    stream.flush()


def echo_exactly(text: str) -> None:
    """The same with the line ends that it has here, also where a system has others for files."""
    stream: Any = sys.stdout
    below = stream.below if isinstance(stream, Careful) else None
    if isinstance(below, TextIOWrapper) and not below.isatty():
        below.reconfigure(newline="\n")
    echo_answer(text, nl=False)


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
