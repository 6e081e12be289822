"""Who is measured: a row of a table, as data."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Contender:
    """One row; `peer` is a key of the script that measures it."""

    key: str
    name: str
    peer: str
    options: dict[str, Any]
