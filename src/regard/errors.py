"""The exceptions a user of regard may see, and the exit code each one ends a command with.

    RegardError                 something went wrong                                  exit 1
    ├── MisuseError             the request itself cannot be carried out as written   exit 2
    │   └── ConfigError         a recipe or a spec holds a wrong key or value         exit 2
    ├── DataError               a corpus, tokenizer or text file is not usable        exit 1
    │   └── PhrasebookError     a table or pattern of the embedded corpus is wrong    exit 1
    ├── CheckpointError         a run or a file of weights is not usable              exit 1
    │   └── DamageError         its bytes are not those that were written             exit 1
    ├── MissingMatplotlib       a picture needs matplotlib (draw/figure/png.py)       exit 1
    └── TrainingError           training cannot go on                                 exit 1
        ├── DivergedError       step after step is not worth taking                   exit 3
        └── OutOfMemoryError    not even the smallest part of a batch fits            exit 4

A message says what, what was got, what was expected and what to do, and each of them is a field of
the error; it reads well in a terminal and in an HTTP body. Programmer's mistakes are asserts.
"""

import reprlib
from collections.abc import Iterable
from copy import copy
from difflib import get_close_matches
from typing import Self

MAX_BITS = 256  # of a number that is shown


def shown(value: object, length: int = 80) -> str:
    """What a file says, as a short text for a message."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:  # Python refuses to write it down
        return f"a whole number of {value.bit_length():,} bits"
    text = repr(value) if isinstance(value, str | int | float) else reprlib.repr(value)
    return text if len(text) <= length else text[: length - 1] + "…"


class RegardError(Exception):
    """Base of every error that regard raises on purpose: a sentence, or the parts of one.

        ConfigError("lora.rank", got=24, expected="less than 24", advice="take 8")
        → lora.rank: got 24, expected less than 24; take 8
        DataError(path, "is UTF-16", expected="UTF-8")
        → train.de: is UTF-16, expected UTF-8

    subject     the option, key, file (with its line) or text that is wrong
    problem     what is wrong with it, in words: a sentence without parts is all problem
    got         the value there, if one was given: plain, or as a text; a class by its name
    expected    what may stand there
    advice      what to do
    """

    exit_code = 1

    def __init__(
        self,
        subject: object = "",
        problem: str = "",
        *,
        got: object = ...,
        expected: str = "",
        advice: str = "",
    ) -> None:
        words = "" if got is ... else got.__name__ if isinstance(got, type) else shown(got)
        facts = ", ".join(filter(None, (words and f"got {words}", problem)))
        comma = "; " if (words and problem) or ", " in problem else ", "
        what = comma.join(filter(None, (facts, expected and f"expected {expected}")))
        is_number = isinstance(got, int | float) and abs(got) < 2**MAX_BITS  # NaN is none
        self.got = got if is_number or isinstance(got, str | None) else words or None
        self.subject, self.problem = (str(subject), problem) if what else ("", str(subject))
        self.expected, self.advice = expected, advice.removeprefix("; ")
        sentence = f"{subject}: {what}" if what else str(subject)
        super().__init__(f"{sentence}; {self.advice}" if advice else sentence)

    def within(self, place: object) -> Self:
        """The same error, with the file, section or line that its subject stands in."""
        error = copy(self)
        error.subject = f"{place}: {self.subject}" if self.subject else str(place)
        error.args = (f"{place}: {self}",)
        return error


class MisuseError(RegardError):
    """A wrong argument, option or combination of them."""

    exit_code = 2


class ConfigError(MisuseError):
    """A wrong key or value in a recipe, an override or a model spec."""


class DataError(RegardError):
    """A text, corpus or tokenizer file that cannot be used."""


class CheckpointError(RegardError):
    """A run folder or a file of weights that cannot be used."""


class DamageError(CheckpointError):
    """A file of a checkpoint that is missing or differs from its checksum."""


class TrainingError(RegardError):
    """Training cannot go on."""


class DivergedError(TrainingError):
    """Loss or gradient went wrong so often that training was given up."""

    exit_code = 3


class OutOfMemoryError(TrainingError):
    """Memory does not suffice, and there is nothing left to divide."""

    exit_code = 4


def nearest(name: str, choices: Iterable[str]) -> str:
    """A clause that helps after a typo: `; did you mean "dropout"?`, or the list of choices."""
    names = list(choices)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; known: {', '.join(names)}"


def nearest_of_few(name: str, choices: Iterable[str]) -> str:
    """As `nearest`, with the whole list in any case: for names that a person chooses from."""
    names = list(choices)
    clause = nearest(name, names)
    return clause if "known:" in clause else f"{clause} There are: {', '.join(names)}."
