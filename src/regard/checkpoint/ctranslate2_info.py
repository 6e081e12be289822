"""What a folder of the ctranslate2 library says about itself, and the library, asked for by name.

    model.bin                the weights, in the library's own format
    config.json              its special pieces
    shared_vocabulary.json   the pieces, in the order of their ids
    vmap.txt                 the shortlist, if there is one (data/shortlist.py)
    regard.json              this: where the weights come from, and what the folder can hold
    checksums.json           of all of these; written last

Nothing here imports torch: a translation by that library need not wait for it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard import atomic
from regard.checksums import add_checksums, check, read_checksums
from regard.errors import CheckpointError, MisuseError, shown
from regard.untrusted import read_json, read_small_file, strict_json

INFO, WEIGHTS, CONFIG = "regard.json", "model.bin", "config.json"
PIECES, SHORTLIST = "shared_vocabulary.json", "vmap.txt"
FORMAT, KIND = 1, "ctranslate2"
MAX_INFO, MAX_PIECES = 64 * 1024, 256 * 1024 * 1024
# Keys of config.json that the library does not translate without.
NEEDED = (
    "add_source_bos", "add_source_eos", "bos_token", "decoder_start_token", "eos_token", "unk_token"
)  # fmt: skip
# Ours → the library's name of a type of numbers.
PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}


@dataclass(frozen=True)
class Info:
    """Where a folder comes from; `weights` is what its source calls them, a SHA-256 for example."""

    weights: str
    precision: str  # of the file; the library turns it into another when it opens the folder
    positions: int  # the most tokens of a source or an output
    start: int
    end: int
    never: list[int]  # ids whose logits have a bias that no search overcomes
    regard: str
    ctranslate2: str


def library() -> Any:
    """The library, or one sentence that says how to get it."""
    try:
        import ctranslate2
    except ImportError:
        advice = "pip install 'regard[fast]'"
        raise MisuseError("engine", "ctranslate2 is not installed", advice=advice) from None
    return ctranslate2


def refuse_ctranslate2(folder: Path) -> None:
    """Say what such a folder is to those who would read it as a model of ours."""
    if (folder / WEIGHTS).is_file() and (folder / PIECES).is_file():
        problem = "a folder of the ctranslate2 library, which that library opens"
        raise CheckpointError(folder, problem, advice="give regard the model that it was made from")


def is_fresh(folder: Path, weights: str, precision: str, never: Sequence[int] = ()) -> bool:
    """Whether the folder was written from these weights, in this precision and with this rule.

    One without checksums, of an earlier version, is not. A regard.json that is damaged is a
    DamageError; the other files are looked at when the library opens them.
    """
    if not (folder / INFO).is_file() or read_checksums(folder) is None:
        return False
    check(folder, [INFO])
    try:
        info = read_info(folder)
    except CheckpointError:
        return False
    whole = (folder / WEIGHTS).is_file() and (folder / PIECES).is_file()
    expected = (weights, precision, sorted(never))
    return whole and (info.weights, info.precision, sorted(info.never)) == expected


def write_info(folder: Path, info: Info) -> None:
    """Write regard.json and the checksums, after all other files."""
    atomic.write_json(folder / INFO, {"format": FORMAT, "kind": KIND, **asdict(info)})
    add_checksums(folder, [WEIGHTS, CONFIG, PIECES, INFO])


def read_info(folder: Path) -> Info:
    """What `write_info` wrote; anything else is a CheckpointError."""
    path = folder / INFO
    if not path.is_file():
        expected = "a folder of `regard convert --to ctranslate2`"
        raise CheckpointError(folder, f"has no {INFO}", expected=expected)
    value = read_json(path, MAX_INFO)
    if value.pop("format", None) != FORMAT or value.pop("kind", None) != KIND:
        raise CheckpointError(path, "not of this format", advice="convert the model again")
    types = dict.fromkeys(("positions", "start", "end"), int) | {"never": list}
    fits = set(value) == set(Info.__annotations__)
    fits = fits and all(type(part) is types.get(name, str) for name, part in value.items())
    if not fits or not all(type(i) is int for i in value["never"]):
        advice = "convert the model again"
        raise CheckpointError(path, "not what regard writes there", advice=advice)
    return Info(**value)


def check_config(folder: Path) -> None:
    """The library reads its config when it first translates, and then says no file's name."""
    config = read_json(folder / CONFIG, MAX_INFO)
    if missing := [key for key in NEEDED if key not in config]:
        raise CheckpointError(f"{folder / CONFIG}: has no {missing[0]}; convert the model again")
    for key, value in config.items():
        number = key.endswith("_epsilon") and type(value) in (int, float)
        if not number and type(value) is not (str if key.endswith("_token") else bool):
            advice = "convert the model again"
            raise CheckpointError(folder / CONFIG, f"{shown(key)} is {shown(value)}", advice=advice)


def has_shortlist(folder: Path) -> bool:
    """Whether the folder has a shortlist, and states its checksum."""
    return (folder / SHORTLIST).is_file() and SHORTLIST in (read_checksums(folder) or ())


def read_pieces(folder: Path) -> list[str]:
    """The pieces in the order of their ids."""
    path = folder / PIECES
    if not path.is_file():
        raise CheckpointError(folder, f"{PIECES} is missing", advice="convert the model again")
    value = strict_json(read_small_file(path, MAX_PIECES), str(path), MAX_PIECES)
    if not isinstance(value, list) or not all(isinstance(piece, str) for piece in value):
        raise CheckpointError(path, expected="a list of texts", advice="convert the model again")
    return value
