"""What a benchmark needs before it starts: libraries and data sets; what is missing is said."""

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from regard.datasets.find import cached_data, find
from regard.datasets.table import named

REPOSITORY = Path(__file__).parent.parent


def folder_of_set(name: str) -> Path:
    """The folder of a data set, or the one where `regard data` would put it."""
    dataset = named(name)
    return find(dataset) or cached_data() / dataset.folder


def stop_without(file: Path, name: str, otherwise: str) -> None:
    """Go on only where a file of the set is here."""
    if not file.is_file():
        stop(f"{file}: no such file; `regard data {name}` fetches the set, or give {otherwise}")


def insist_on_libraries(names: Iterable[str]) -> None:
    """Go on only where all of them are installed."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        stop(f"{', '.join(missing)}: not installed; install with `pip install 'regard[bench]'`")


def stop(sentence: str) -> NoReturn:
    """End as for a misuse."""
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


def say(line: str) -> None:
    """How far we are: beside the output, not in it."""
    print(line, file=sys.stderr, flush=True)
