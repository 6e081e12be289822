"""The files of weights of a published folder, and their headers, each read once.

    model.safetensors                          all in one
    model.safetensors.index.json → shards      {"weight_map": {"name of a tensor": "file"}}
    pytorch_model.bin, or its index, model.pt  pickled: only when the caller allows it

A shard is a plain file of the folder. The index and the headers must agree on every tensor.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from regard.checkpoint import guard, pickled
from regard.checkpoint.headers.contents import Header
from regard.errors import CheckpointError, shown
from regard.untrusted import member, read_json

SAFE = ("model.safetensors",)
PICKLED = ("pytorch_model.bin", "model.pt")
INDEX = ".index.json"  # after the name of the single file
MAX_INDEX = 8 * 1024 * 1024
MAX_SHARDS = 1000


@dataclass(frozen=True)
class Weights:
    """What the headers of a folder's files say."""

    headers: dict[Path, Header]
    is_pickled: bool

    def stored(self) -> Header:
        """Every tensor of all files."""
        return {name: stored for header in self.headers.values() for name, stored in header.items()}

    def read(self, names: Collection[str]) -> Iterator[tuple[Path, str, Tensor]]:
        """The numbers of these tensors, one tensor at a time, with the file that holds it."""
        room = pickled if self.is_pickled else guard
        for path, header in self.headers.items():
            for name, tensor in room.read_numbers(path, header, [n for n in header if n in names]):
                yield path, name, tensor


def find_weights(folder: Path, allow_pickle: bool = False) -> Weights:
    """The weights of a folder: safetensors where there are any, pickled ones if allowed."""
    for single in SAFE + PICKLED:
        for name in (single, single + INDEX):
            if not (folder / name).exists() and not (folder / name).is_symlink():
                continue  # a broken link is refused, not passed over
            if single in PICKLED and not allow_pickle:
                raise CheckpointError(
                    f"{folder}: its weights are pickled ({single}), a format that can carry code; "
                    f"make a safe copy with `regard convert {folder} OUT --to hf --allow-pickle`, "
                    "or load it with allow_pickle=True: both read plain tensors only"
                )
            return Weights(_headers(folder, name, single in PICKLED), single in PICKLED)
    looked = [name for single in SAFE for name in (single, single + INDEX)]
    problem = f"no weights: no {', no '.join([*looked, *PICKLED])}"
    advice = "put the model's weights into the folder, under the name that their makers gave them"
    raise CheckpointError(folder, problem, advice=advice)


def holds_weights(folder: Path, is_pickled: bool = False) -> bool:
    """Whether every file of the folder's weights is there, safe ones or pickled ones."""
    for single in PICKLED if is_pickled else SAFE:
        index = folder / (single + INDEX)
        if (folder / single).is_file():
            return True
        if index.is_file():
            return all((folder / shard).is_file() for shard in set(read_index(index).values()))
    return False


def _headers(folder: Path, name: str, is_pickled: bool) -> dict[Path, Header]:
    """Of a single file, or of the shards that an index names."""
    read_header = pickled.read_header if is_pickled else guard.read_header
    path = member(folder, name)
    if not name.endswith(INDEX):
        return {path: read_header(path)}
    places, suffix = read_index(path), Path(name.removesuffix(INDEX)).suffix
    headers: dict[Path, Header] = {}
    real: set[Path] = set()
    for shard in sorted(set(places.values())):
        file = member(folder, shard)
        if file.suffix != suffix:
            raise CheckpointError(path, f"shard {shown(shard)} is no {suffix} file")
        if file.resolve() in real:
            raise CheckpointError(path, f"shard {shown(shard)} is another shard once more")
        real.add(file.resolve())
        headers[file] = read_header(file)
    _check_index(path, places, headers)
    return headers


def read_index(index: Path) -> dict[str, str]:
    """The shard of each tensor, as an index says."""
    places = read_json(index, MAX_INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(index, "not an index of shards: weight_map is missing or empty")
    for name, shard in places.items():
        if not isinstance(shard, str):
            raise CheckpointError(index, f"the shard of {shown(name)} is {shown(shard)}")
    if len(set(places.values())) > MAX_SHARDS:
        raise CheckpointError(index, f"more than {MAX_SHARDS} shards")
    return places


def _check_index(index: Path, places: dict[str, str], headers: dict[Path, Header]) -> None:
    """Every tensor lies in the shard that the index names, and in no other."""
    held = {(name, path.name) for path, header in headers.items() for name in header}
    for name, shard in sorted(set(places.items()) - held)[:1]:
        raise CheckpointError(index, f"tensor {shown(name)} is not in its shard {shown(shard)}")
    for name, shard in sorted(held - set(places.items()))[:1]:
        problem = f"shard {shown(shard)} holds {shown(name)}, which the index does not place there"
        raise CheckpointError(index, problem)
