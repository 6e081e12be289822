"""A run folder: everything one training makes, and where each thing lies in it.

runs/demo/
  checksums.json      of what is written once: the tokenizer's files, the texts of data/
  run.json            state (training, stopped, finished), threads, versions, what was chosen
  recipe.json         the recipe with every key, as used
  spec.json           the model's spec            tokenizer.json   the vocabulary
  data/               ids of the training pairs, validation and test pairs as text
  log.jsonl           one line per logged step and validation      tensorboard/   the same
  checkpoints/        checkpoint/training_state.py
  model.safetensors   the weights to use          model.json       where they come from
  loss.png            the loss curve

Objects like run.json state their own checksum (checksums.py); data/train and checkpoints/ have
those of their files; model.json has that of the weights, and run.json, in the end, that of the log.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard import atomic, lock
from regard.checkpoint.files import files_around, read_own_json
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import check, read_checksums, sealed, sha256, write_checksums
from regard.errors import CheckpointError, DataError, MisuseError
from regard.untrusted import file_size, member, read_small_file, strict_json

# What states its own checksum.
SEALED = ("run.json", "recipe.json", "spec.json", "model.json", "encoder.json")
DATA = "data/"
LOCK = ".lock"
MAX_TEXTS = 1 << 30  # bytes of a file of validation or test rows
PREPARING = "preparing"  # the state of a run before its first step (fit/claim.py)


class _Member:
    """The path of something in a run's folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: "RunFolder", kind: type["RunFolder"]) -> Path:
        return run.folder / self._name


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run folder."""

    folder: Path

    info = _Member("run.json")
    checksums = _Member(CHECKSUMS)
    recipe = _Member("recipe.json")
    spec = _Member("spec.json")
    tokenizer = _Member("tokenizer.json")
    data = _Member("data")
    log = _Member("log.jsonl")
    tensorboard = _Member("tensorboard")
    checkpoints = _Member("checkpoints")
    weights = _Member("model.safetensors")
    weights_info = _Member("model.json")
    loss_curve = _Member("loss.png")

    def read_info(self) -> dict[str, Any]:
        return read_own_json(self.info)

    def is_preparing(self) -> bool:
        """Whether it says that its data is being prepared, and has nothing to show for itself."""
        results = (self.checkpoints, self.weights, self.log)
        if not self.info.is_file() or any(path.exists() for path in results):
            return False
        with suppress(CheckpointError):
            return self.read_info().get("state") == PREPARING
        return False

    def is_blank(self) -> bool:
        """Whether there is nothing in it but a lock, and what a crash left half."""
        with suppress(FileNotFoundError):
            names = (path.name for path in self.folder.iterdir())
            return all(name == LOCK or name.startswith(atomic.PREFIX) for name in names)
        return True

    def is_held(self) -> bool:
        """Whether another process trains it; so it seems, too, where this one may not write."""
        try:
            with lock.held(self.folder / LOCK):
                return False
        except (lock.Taken, OSError):
            return True

    def begun_with(self) -> str:
        """What was typed after `regard train`, but for the folder; earlier versions do not say."""
        words = self.read_info().get("begun_with")
        return shlex.join(map(str, words)) if isinstance(words, list) else "…"

    def update_info(self, **changes: Any) -> None:
        info = read_own_json(self.info) if self.info.exists() else {}
        write_own_json(self.info, {**info, **changes})

    def whole(self, name: str) -> Path:
        """A file of its data, known to be what was written if it is there."""
        if (self.data / name).exists():
            check(self.folder, [f"{DATA}{name}"])
        return self.data / name

    def check_places(self) -> None:
        """Before it is written to: none of its files is a pipe, or a link that leads elsewhere.

        A folder in it may be a link: checkpoints may lie on another disk.
        """
        for path in self.folder.iterdir():
            if not path.is_dir():
                file_size(member(self.folder, path.name) if path.is_symlink() else path)

    def check_data(self) -> None:
        """Refuse data that was changed since; stores of ids are checked by their own `verify`."""
        check(self.folder, [n for n in read_checksums(self.folder) or () if n.startswith(DATA)])


def write_own_json(path: Path, value: dict[str, Any]) -> None:
    """A JSON object that states its own checksum, readable and atomic."""
    atomic.write_json(path, sealed(value))


def seal(run: RunFolder) -> None:
    """State the checksums of what has been prepared; the last of all that is written for that.

    A run of an earlier version gets all that it lacks.
    """
    for name in SEALED:
        path = run.folder / name
        if path.is_file() and not run.checksums.exists():
            write_own_json(path, read_own_json(path))
    files = [*files_around(run.folder), *(f for f in run.data.rglob("*") if _is_text(f))]
    sums = {file.relative_to(run.folder).as_posix(): sha256(file) for file in files}
    write_checksums(run.folder, sums)


def _is_text(file: Path) -> bool:
    """Whether a file of the data is none of a store of ids, which states its own checksums."""
    hidden = any(part.startswith(".") for part in (file.name, file.parent.name))
    return file.is_file() and not hidden and not (file.parent / "store.json").exists()


@contextmanager
def only_one(run: RunFolder) -> Iterator[None]:
    """Hold the run's lock: two trainings in one folder would destroy each other's checkpoints."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(run.folder / LOCK))
        except lock.Taken:
            raise MisuseError(run.folder, "another process is training this run") from None
        yield


def typed(folder: Path) -> str:
    """A folder as a person would type it in a command, with the quotes that it needs."""
    name = str(folder)
    return subprocess.list2cmdline([name]) if os.name == "nt" else shlex.quote(name)


def read_texts(path: Path, **kinds: Any) -> list[dict[str, Any]]:
    """The rows of a validation or test file of a run; `kinds`: key → the type of its value."""
    if not path.exists():
        raise DataError(path, "this run has no such set")
    # only "\n" ends a row
    lines = read_small_file(path, MAX_TEXTS, DataError).removesuffix(b"\n").split(b"\n")
    rows = []
    for number, line in enumerate(lines if lines != [b""] else [], start=1):
        row = strict_json(line, f"{path}, line {number}", refusal=DataError)
        if not isinstance(row, dict) or not all(
            isinstance(row.get(key), kind) for key, kind in kinds.items()
        ):
            raise DataError(f"{path}, line {number}: expected an object with {', '.join(kinds)}")
        rows.append(row)
    return rows
