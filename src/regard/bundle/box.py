"""The models in the box: trained, and small enough to travel inside the package.

    demo-de   English → German, on the phrasebook        demo-hi   English → Hindi

Packed, a model is what a run folder holds, less what only training needs:

    models/demo-de/
      card.json            data, recipe, scores, licence: what `make models` measured
      model.safetensors    the weights, rounded to bf16: half the size
      run.json  recipe.json  spec.json  tokenizer.json  model.json
      texts.zip            data/: validation pairs; of the phrasebook also its test and notes pairs
                           and the words that were trained on
      checksums.json       of the tokenizer and of what texts.zip holds

A package may lie where nobody can write, and an engine keeps its own weights beside a model's. So
a model is unpacked into the user's cache on first use, as a run folder like any other, and again
when that has been damaged. Nothing here imports torch: a bf16 number is the upper half of an fp32
number.
"""

import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from regard import atomic
from regard.checkpoint.files import read_own_json
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import check, is_whole, read_checksums, write_checksums
from regard.errors import CheckpointError, DamageError
from regard.places import cache_folder
from regard.runs.folder import write_own_json

BOX = Path(__file__).parent.parent / "models"
CARD, STATED, WEIGHTS, TEXTS = "card.json", "model.json", "model.safetensors", "texts.zip"
RECIPE = "recipe.json"
OBJECTS = ("run.json", RECIPE, "spec.json", CARD)  # each states its own checksum
TOKENIZER = "tokenizer.json"
SMALL = (*OBJECTS, TOKENIZER, STATED, CHECKSUMS)  # of these the name of the unpacked folder is made
KEPT = ("valid.jsonl", "test.jsonl", "notes.jsonl", "words.txt")  # of the run's data, if there
_FILES = ("source", "target", "valid_source", "valid_target")  # keys of a recipe's data


@dataclass(frozen=True)
class Boxed:
    """One model of the package."""

    name: str
    folder: Path

    @property
    def card(self) -> dict[str, Any]:
        """What is known of it: languages, data, recipe, scores, licence."""
        return read_own_json(self.folder / CARD)

    def unpacked(self) -> Path:
        """Its run folder in the user's cache; made on first use, and after each change here."""
        files = {name: (self.folder / name).read_bytes() for name in SMALL}
        place = cache_folder() / "models" / _digest(files.values())[:12] / self.name
        if place.is_dir():
            damage = _damage(place)
            if not damage:
                return place
            print(f"{damage}; {self.name} is unpacked again.", file=sys.stderr)
        try:
            self._unpack(files, place)
        except CheckpointError as error:
            what = str(error).partition(";")[0]
            advice = "install regard again"
            raise CheckpointError(self.folder, f"damaged ({what})", advice=advice) from None
        return place

    def _unpack(self, files: Mapping[str, bytes], place: Path) -> None:
        """Into a folder that gets its name when all that is in it has been found whole."""
        with atomic.new_folder(place, replace=place.is_dir()) as folder:
            for name, content in files.items():
                (folder / name).write_bytes(content)
            weights = (self.folder / WEIGHTS).read_bytes()
            stated = read_own_json(folder / STATED)
            if stated["sha256"] != _digest([weights]):
                raise DamageError(self.folder / WEIGHTS, "differs from its checksum")
            wide = widened(weights)
            (folder / WEIGHTS).write_bytes(wide)
            write_own_json(folder / STATED, {**stated, "sha256": _digest([wide])})
            (folder / "data").mkdir()
            for name, content in _members(self.folder / TEXTS).items():
                (folder / "data" / name).write_bytes(content)
            _look_at(folder)


def _members(file: Path) -> dict[str, bytes]:
    """What texts.zip holds; the library has an error of its own for each place that is damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            there = archive.namelist()
            return {name: archive.read(name) for name in KEPT if name in there}
    except (zipfile.BadZipFile, KeyError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise DamageError(file, f"cannot be read: {error}") from None
    except zlib.error as error:
        raise DamageError(file, f"cannot be unpacked: {error}") from None


def _look_at(folder: Path) -> None:
    """Refuse an unpacked model of which any file is not what was packed."""
    if read_checksums(folder) is None:
        raise DamageError(folder / CHECKSUMS, "is missing")
    check(folder)
    for name in (*OBJECTS, STATED):
        read_own_json(folder / name)


def _damage(folder: Path) -> str:
    """What is wrong with an unpacked model, in a clause."""
    try:
        _look_at(folder)
        if is_whole(folder / WEIGHTS, str(read_own_json(folder / STATED).get("sha256"))):
            return ""
    except CheckpointError as error:
        return str(error).partition(";")[0]
    return f"{folder / WEIGHTS}: differs from its checksum"


@cache
def models_in_the_box() -> dict[str, Boxed]:
    """Each model of the package, by its name."""
    cards = sorted(BOX.glob(f"*/{CARD}"))
    return {card.parent.name: Boxed(card.parent.name, card.parent) for card in cards}


def pack(run: Path, place: Path, card: dict[str, Any]) -> None:
    """A finished run → a folder of the box."""
    weights = narrowed((run / WEIGHTS).read_bytes())
    stated = {**read_own_json(run / STATED), "sha256": _digest([weights])}
    sums = read_checksums(run)
    assert sums is not None, "a run of an earlier version: `regard train --resume` adds checksums"
    texts = BytesIO()
    with zipfile.ZipFile(texts, "w") as archive:
        kept = [name for name in KEPT if (run / "data" / name).is_file()]
        for name in kept:  # a fixed date: the same run gives the same bytes
            content = (run / "data" / name).read_bytes()
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    with atomic.new_folder(place) as folder:
        for name in (*OBJECTS, TOKENIZER):
            if name not in (CARD, RECIPE):
                (folder / name).write_bytes((run / name).read_bytes())
        recipe = _without_folders(read_own_json(run / RECIPE))
        for name, values in {STATED: stated, CARD: card, RECIPE: recipe}.items():
            write_own_json(folder / name, values)
        (folder / WEIGHTS).write_bytes(weights)
        (folder / TEXTS).write_bytes(texts.getvalue())
        unpacked = (TOKENIZER, *(f"data/{name}" for name in kept))
        write_checksums(folder, {name: sums[name] for name in unpacked})


def _without_folders(recipe: dict[str, Any]) -> dict[str, Any]:
    """The files of its data by their names alone: where they lay is of no use elsewhere."""
    data = dict(recipe["data"])
    data |= {key: Path(data[key]).name for key in _FILES if data.get(key)}
    return {**recipe, "data": data}


def widened(data: bytes) -> bytes:
    """A safetensors file of bf16 as one of fp32: the same values, bit for bit."""
    header, numbers = _parts(data, "BF16")
    wide = np.frombuffer(numbers, dtype="<u2").astype("<u4") << 16
    return _safetensors(header, "F32", lambda place: 2 * place, wide.tobytes())


def narrowed(data: bytes) -> bytes:
    """A safetensors file of fp32 as one of bf16, each number rounded to the nearest, ties to even.

    The sum carries into the upper half where the lower half is over one half of its last place.
    """
    header, numbers = _parts(data, "F32")
    wide = np.frombuffer(numbers, dtype="<u4").astype(np.uint64)
    rounded = (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16
    return _safetensors(header, "BF16", lambda place: place // 2, rounded.astype("<u2").tobytes())


def _parts(data: bytes, dtype: str) -> tuple[dict[str, Any], bytes]:
    """The header and the numbers of a safetensors file of ours, all of one dtype."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    assert {entry["dtype"] for entry in header.values()} == {dtype}
    return header, data[8 + length :]


def _safetensors(header: dict[str, Any], dtype: str, moved: Any, numbers: bytes) -> bytes:
    for entry in header.values():
        entry.update(dtype=dtype, data_offsets=[moved(place) for place in entry["data_offsets"]])
    stated = json.dumps(header, separators=(",", ":")).encode()
    stated += b" " * (-len(stated) % 8)  # numbers begin at a multiple of eight
    return struct.pack("<Q", len(stated)) + stated + numbers


def _digest(parts: Iterable[bytes]) -> str:
    total = sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()
