"""Checkpoints of a training run: a folder per step, safetensors and JSON only.

    checkpoints/
      step-00001200/
        weights.safetensors     the model
        optimizer.safetensors   Adam's moments
        state.json              step, place in the data, best score, patience
        manifest.json           SHA-256 of the other files and its own: written last, checked first

A folder appears under its name only when it is complete (atomic.py). One that is damaged later is
put aside under another name, not deleted: step-00001200 → damaged-step-00001200.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from regard import atomic
from regard.checkpoint.files import folder_name, read_own_json
from regard.checkpoint.guard import read_tensors
from regard.checksums import sha256
from regard.errors import CheckpointError, DamageError
from regard.printable import Say
from regard.untrusted import opened, strict_json

MANIFEST = "manifest.json"
MAX_MANIFEST = 1 << 16  # bytes
OWN = "manifest"  # the key of the manifest's own checksum
ASIDE = "damaged-"
FORMAT = 1  # of the folder; a change that older code cannot read raises it


@dataclass(frozen=True)
class Checkpoint:
    """What one checkpoint holds."""

    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]


def save_checkpoint(root: Path, step: int, content: Checkpoint) -> Path:
    """Write checkpoint `step` under `root`, whole or not at all."""
    path = root / folder_name(step)
    with atomic.new_folder(path) as temporary:
        files = {
            "weights.safetensors": save(_plain(content.weights)),
            "optimizer.safetensors": save(_plain(content.optimizer)),
            "state.json": _json(content.state),
        }
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        stated = {"format": FORMAT, "sha256": digests}
        manifest = _json({**stated, OWN: _digest(stated)})
        for name, data in {**files, MANIFEST: manifest}.items():
            with atomic.named_when_full(temporary / name):
                (temporary / name).write_bytes(data)
    return path


def load_checkpoint(root: Path, step: int, expected: Mapping[str, Tensor]) -> Checkpoint:
    """Read checkpoint `step`; every file must have the checksum that its manifest states."""
    path = root / folder_name(step)
    verify(path)
    return Checkpoint(
        weights=read_tensors(path / "weights.safetensors", expected),
        optimizer=read_tensors(path / "optimizer.safetensors"),
        state=read_own_json(path / "state.json"),
    )


def load_weights(root: Path, step: int, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Only the weights of checkpoint `step`."""
    path = root / folder_name(step)
    verify(path)
    return read_tensors(path / "weights.safetensors", expected)


def load_state(root: Path, step: int) -> dict[str, Any]:
    """Only the state of checkpoint `step`."""
    path = root / folder_name(step)
    verify(path, only="state.json")
    return read_own_json(path / "state.json")


def verify(path: Path, only: str = "") -> None:
    """Compare each file of a checkpoint, or one, with its checksum; the manifest before all."""
    stated = _manifest(path / MANIFEST)
    for name, digest in stated.items():
        if only not in ("", name):
            continue
        file = path / Path(name).name
        with _naming(file):
            is_same = sha256(file) == digest
        if not is_same:
            raise DamageError(file, "differs from its checksum: the file was damaged or changed")


def _manifest(file: Path) -> dict[str, str]:
    """The checksums that a manifest states, if its bytes are those that were written."""
    with _naming(file), opened(file) as stream:
        text = stream.read(MAX_MANIFEST)
    try:
        manifest = strict_json(text, str(file))
    except CheckpointError as error:
        raise DamageError(f"{error}: the file was damaged") from None
    if not isinstance(manifest, dict) or text != _json(manifest):
        raise DamageError(file, "is not as it was written: the file was damaged or changed")
    own = manifest.pop(OWN, None)  # the first runs have none
    if (
        own is None
        and set(manifest) != {"format", "sha256"}
        or own not in (None, _digest(manifest))
    ):
        raise DamageError(file, "differs from its own checksum: it was damaged or changed")
    stated = manifest.get("sha256")
    if manifest.get("format") != FORMAT or not isinstance(stated, dict):
        problem = f"of format {manifest.get('format')}, this regard reads {FORMAT}"
        raise CheckpointError(file, problem, advice="use the version of regard that run.json names")
    return stated


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Errors of the system become ours; one that the user can mend is no damage."""
    try:
        yield
    except PermissionError:
        raise CheckpointError(file, "may not be read", advice="change its permissions") from None
    except OSError as error:
        raise DamageError(file, f"cannot be read: {error.strerror}") from None


def newest_whole(
    root: Path, steps: Sequence[int], expected: Mapping[str, Tensor], say: Say
) -> tuple[int, Checkpoint] | None:
    """The last of these checkpoints whose checksums hold; None if there are none at all.

    The damaged ones before it are put aside with a warning each. If none is whole, nothing is
    touched: to begin again from nothing is not ours to decide.
    """
    damaged: list[tuple[int, DamageError]] = []
    for step in sorted(steps, reverse=True):
        try:
            checkpoint = load_checkpoint(root, step, expected)
        except DamageError as error:
            damaged.append((step, error))
            continue
        for broken, why in damaged:
            aside = put_aside(root, broken)
            say(f"Warning: {why}.")
            say(f"  That checkpoint now lies in {aside}; taking the one of step {step:,}.")
        return step, checkpoint
    if damaged:
        one = len(damaged) == 1
        which = "its one checkpoint is not" if one else f"none of the {len(damaged)} checkpoints is"
        raise DamageError(root, f"{which} whole ({damaged[0][1]})", advice="nothing was changed")
    return None


def whole_steps(root: Path, steps: Sequence[int], say: Say) -> list[int]:
    """Those of these checkpoints whose checksums hold; each of the others is named and left."""
    good = []
    for step in steps:
        try:
            verify(root / folder_name(step))
            good.append(step)
        except DamageError as error:
            say(f"Warning: {error}; this checkpoint is not used.")
    return good


def put_aside(root: Path, step: int) -> Path:
    """Give a damaged checkpoint a name that nothing reads."""
    name, number = ASIDE + folder_name(step), 1
    while (root / name).exists():
        number += 1
        name = f"{ASIDE}{folder_name(step)}-{number}"
    return (root / folder_name(step)).rename(root / name)


def average_weights(
    root: Path, steps: list[int], expected: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints (the paper averages its last 5 or 20)."""
    assert steps, "nothing to average"
    total = {
        name: tensor.double() for name, tensor in load_weights(root, steps[0], expected).items()
    }
    for step in steps[1:]:
        for name, tensor in load_weights(root, step, expected).items():
            total[name] += tensor
    return {name: (tensor / len(steps)).to(expected[name].dtype) for name, tensor in total.items()}


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """One safetensors file, atomically."""
    atomic.write_bytes(path, save(_plain(weights)))


def _digest(stated: Mapping[str, Any]) -> str:
    return hashlib.sha256(_json(stated)).hexdigest()


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
