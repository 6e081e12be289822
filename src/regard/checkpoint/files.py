"""What lies around the weights: names of folders, JSON, files that are copied along; no torch."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard import atomic
from regard.checksums import unsealed
from regard.untrusted import member, read_json

MAX_BYTES = 1 << 24  # of a JSON file of ours
MAX_CONFIG = 4 * 1024 * 1024  # bytes of one that a stranger wrote
# Files that are copied as they are: text in and out, settings, how sentences become one vector.
COPIED = re.compile(
    r"tokenizer\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json"
    r"|vocab\.(txt|json)|merges\.txt|[\w.-]+\.(model|spm)|generation_config\.json"
    r"|preprocessor_config\.json|modules\.json|sentence_\w+_config\.json"
    r"|config_sentence_transformers\.json|codebook\.safetensors"
)
MODULE = re.compile(r"[0-9]_[A-Za-z]{1,30}")  # a folder that modules.json names, with a config.json


def is_published(folder: Path) -> bool:
    """Whether a folder looks like a published checkpoint."""
    return (folder / "config.json").is_file()


def is_converted(folder: Path) -> bool:
    """Whether `regard convert --to native` wrote this folder."""
    return (folder / "regard.json").is_file()


def folder_name(step: int) -> str:
    return f"step-{step:08d}"


def steps_saved(root: Path) -> list[int]:
    """The steps that have a complete checkpoint, in order."""
    if not root.is_dir():
        return []
    numbers = [path.name.removeprefix("step-") for path in root.glob("step-*")]
    return sorted(int(number) for number in numbers if number.isdigit())


def read_own_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours, or an error that names the file.

    One that states its own checksum must have it; it comes back without it.
    """
    return unsealed(read_json(path, MAX_BYTES, constants=True, surrogates=True), path)


def read_config_file(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """A JSON object that a stranger wrote; a link that leads out of the folder is refused."""
    return read_json(member(folder, name), MAX_CONFIG)


def files_around(folder: Path) -> Iterator[Path]:
    """The files that go with the weights; a link that leads out of the folder is refused."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and COPIED.fullmatch(path.name):
            yield member(folder, path.name)
        elif path.is_dir() and MODULE.fullmatch(path.name) and (path / "config.json").is_file():
            yield member(path, "config.json")


def copy_around(source: Path, target: Path) -> None:
    """Copy them; a file that is there already stays."""
    for file in files_around(source):
        place = target / file.relative_to(source)
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            with atomic.named_when_full(place):  # else it is the source that is named
                shutil.copyfile(file, place)
