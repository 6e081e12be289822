"""The models in the box: trained, and small enough to travel inside the package.

    demo-de   English → German, on the phrasebook        demo-hi   English → Hindi

Packed, a model is what a run folder holds, less what only training needs:

    models/demo-de/
      card.json            data, recipe, scores, licence: what `make models` measured
      model.safetensors    the weights, rounded to bf16: half the size
      run.json  recipe.json  spec.json  tokenizer.json  model.json
      texts.zip            data/: validation, test and notes pairs, the words that were trained on

A package may lie where nobody can write, and an engine keeps its own weights beside a model's. So
a model is unpacked into the user's cache on first use, as a run folder like any other. Nothing here
imports torch: a bf16 number is the upper half of an fp32 number.
"""

import json
import struct
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from regard import atomic
from regard.checkpoint.files import read_json
from regard.errors import CheckpointError
from regard.places import cache_folder

BOX = Path(__file__).parent.parent / "models"
CARD, STATED, WEIGHTS, TEXTS = "card.json", "model.json", "model.safetensors", "texts.zip"
PLAIN = ("run.json", "recipe.json", "spec.json", "tokenizer.json", CARD)  # unpacked as they are
KEPT = ("valid.jsonl", "test.jsonl", "notes.jsonl", "words.txt")  # of the run's data


@dataclass(frozen=True)
class Boxed:
    """One model of the package."""

    name: str
    folder: Path

    @property
    def card(self) -> dict[str, Any]:
        """What is known of it: languages, data, recipe, scores, licence."""
        return read_json(self.folder / CARD)

    def unpacked(self) -> Path:
        """Its run folder in the user's cache; made on first use, and after each change here."""
        files = {name: (self.folder / name).read_bytes() for name in (*PLAIN, STATED)}
        weights, texts = ((self.folder / name).read_bytes() for name in (WEIGHTS, TEXTS))
        version = _digest([*files.values(), weights, texts])[:12]
        place = cache_folder() / "models" / version / self.name
        if place.is_dir():
            return place
        stated = json.loads(files[STATED])
        if stated["sha256"] != _digest([weights]):
            raise CheckpointError(f"{self.folder / WEIGHTS}: damaged; install regard again")
        wide = widened(weights)
        stated["sha256"] = _digest([wide])
        with atomic.new_folder(place, replace=False) as folder:
            for name in PLAIN:
                (folder / name).write_bytes(files[name])
            (folder / WEIGHTS).write_bytes(wide)
            (folder / STATED).write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
            (folder / "data").mkdir()
            with zipfile.ZipFile(BytesIO(texts)) as archive:
                for name in KEPT:
                    (folder / "data" / name).write_bytes(archive.read(name))
        return place


@cache
def models_in_the_box() -> dict[str, Boxed]:
    """Each model of the package, by its name."""
    cards = sorted(BOX.glob(f"*/{CARD}"))
    return {card.parent.name: Boxed(card.parent.name, card.parent) for card in cards}


def pack(run: Path, place: Path, card: dict[str, Any]) -> None:
    """A finished run → a folder of the box."""
    weights = narrowed((run / WEIGHTS).read_bytes())
    stated = {**read_json(run / STATED), "sha256": _digest([weights])}
    texts = BytesIO()
    with zipfile.ZipFile(texts, "w") as archive:
        for name in KEPT:  # a fixed date: the same run gives the same bytes
            content = (run / "data" / name).read_bytes()
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    with atomic.new_folder(place) as folder:
        for name in PLAIN:
            if name != CARD:
                (folder / name).write_bytes((run / name).read_bytes())
        for name, values in {STATED: stated, CARD: card}.items():
            text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
        (folder / WEIGHTS).write_bytes(weights)
        (folder / TEXTS).write_bytes(texts.getvalue())


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
