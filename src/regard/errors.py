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

A message says what, what was got, what was expected and what to do; it reads well in a terminal and
in an HTTP body. Programmer's mistakes are asserts, not these.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RegardError(Exception):
    """Base of every error that regard raises on purpose."""

    exit_code = 1


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
