"""What lies around the weights: names of folders, checksums, JSON. It imports no torch."""

import json
from pathlib import Path
from typing import Any

from regard.checksums import sha256 as sha256
from regard.checksums import unsealed
from regard.untrusted import read_json as read_any_json

MAX_BYTES = 1 << 24  # of a JSON file of ours


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


def json_text(value: Any) -> str:
    """JSON for people: letters as they are; all in ASCII if a file's name in it is no text."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a byte of a name that is not UTF-8, as Python hands it on
        return json.dumps(value, indent=2)
    return text


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours, or an error that names the file.

    One that states its own checksum must have it; it comes back without it.
    """
    return unsealed(read_any_json(path, MAX_BYTES, constants=True), path)
