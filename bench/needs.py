"""What a benchmark needs before it starts: libraries and Multi30k; what is missing is said."""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

REPOSITORY = Path(__file__).parent.parent
SHARED = Path(os.environ.get("REGARD_SHARED", REPOSITORY.parent / "shared"))
DATA = SHARED / "data/multi30k"


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
