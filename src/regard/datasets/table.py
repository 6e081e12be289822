"""The table of data sets, `sets.toml` beside this file, as frozen dataclasses."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from regard.config import build, read_toml
from regard.errors import MisuseError, nearest_of_few

TABLE = Path(__file__).parent / "sets.toml"


@dataclass(frozen=True)
class DataFile:
    """A file of a set; `address` follows the set's base and is the name unless it is given."""

    name: str
    address: str = ""
    member: str = ""  # of the archive at the address
    bytes: int = 0  # of the content, unpacked; 0: not fixed
    sha256: str = ""


@dataclass(frozen=True)
class DataSet:
    """What is known of a set before any of it is here."""

    name: str
    what: str
    size: str
    licence: str
    page: str  # for a person: where it is described
    kind: Literal["pairs", "texts", "images", "other"]
    phrasebook: Literal["", "de", "hi"] = ""  # part of the package, without files
    scenes: Literal["", "en", "de"] = ""  # drawn when they are needed, without files
    inside: str = ""  # the folder of its files in the package, for a set that is part of it
    folder: str = ""  # the folder of its files, below $REGARD_DATA or the cache's data/
    base: str = ""
    make: Literal["", "tatoeba-de", "tatoeba-hi", "joined", "digits"] = (
        ""  # how a download becomes the files
    )
    note: str = ""
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()

    @property
    def is_made(self) -> bool:
        """Whether regard makes it, so that there is nothing to fetch."""
        return bool(self.phrasebook or self.scenes)

    def address(self, file: DataFile) -> str:
        """Where the file, or the archive with it, is public; "": nowhere."""
        return self.base + (file.address or file.name) if self.base else ""


@cache
def all_sets() -> dict[str, DataSet]:
    """Name → set, in the order of the table."""
    return {
        name: build(DataSet, {"name": name, **row}, f"{TABLE.name}: [{name}]")
        for name, row in read_toml(TABLE).items()
    }


def named(name: str) -> DataSet:
    """The set of that name; a wrong one is answered with the nearest and with all there are."""
    sets = all_sets()
    if name not in sets:
        raise MisuseError(f"no data set {name!r}{nearest_of_few(name, sets)}")
    return sets[name]
