"""What the grammar made, kept in the user's cache: making it takes seconds, reading it does not.

    {"format": 1, "made_from": "…", "sha256": "…"}     one line: of which grammar, and a checksum
    ["How are you?", "Wie geht es dir?", …]            then a row a line

`made_from` is a digest of every file that has a say in the rows, so a changed grammar is made anew;
so is a file that is damaged. The cache is a convenience: where it cannot be written, nothing is
kept, and that is no error.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from regard import atomic
from regard.places import cache_folder
from regard.text import words

FORMAT = 1
FOLDER = Path(__file__).parent
OUTSIDE = (Path(words.__file__),)  # code of another room that word_classes.py uses

KeptRows = list[list[Any]]


def kept_rows(name: str, make: Callable[[], KeptRows]) -> KeptRows:
    """The rows kept under this name, or those that `make` gives, which are kept from now on."""
    path = cache_folder() / "phrasebook" / f"{name}.jsonl"
    body = _read(path)
    if body is None:
        # In ASCII: a line break of any alphabet stays inside its row.
        body = b"".join(json.dumps(row).encode("ascii") + b"\n" for row in make())
        with suppress(OSError):  # read-only, full, or no folder at all
            atomic.write_bytes(path, json.dumps(_head(body)).encode("ascii") + b"\n" + body)
    rows: KeptRows = json.loads(b"[" + body.rstrip(b"\n").replace(b"\n", b",") + b"]")
    return rows


def _read(path: Path) -> bytes | None:
    """The lines of a file that is whole and of this grammar, else None."""
    try:
        first, _, body = path.read_bytes().partition(b"\n")
        head = json.loads(first)
    except (OSError, ValueError):
        return None
    return body if head == _head(body) else None


def _head(body: bytes) -> dict[str, object]:
    return {
        "format": FORMAT,
        "made_from": _grammar(),
        "sha256": hashlib.sha256(body).hexdigest(),
    }


@cache
def _grammar() -> str:
    """A digest of the tables, the patterns and the code that reads them."""
    digest = hashlib.sha256()
    inside = (file for file in FOLDER.rglob("*") if file.suffix in (".py", ".tsv", ".txt"))
    for file in (*sorted(inside), *OUTSIDE):
        digest.update(f"\0{file.name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
