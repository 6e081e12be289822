"""The log of a run: JSON lines, and the same numbers for TensorBoard where it is installed."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

from regard import atomic


class Log:
    """Appends records to log.jsonl; a record has `step`, `kind` and numbers.

    A full disk does not end a training: records wait in memory until there is room again.
    """

    def __init__(
        self, path: Path, tensorboard: Path, after_step: int = 0, records: int = 0
    ) -> None:
        """On resume, records later than `after_step` are dropped: those steps are done again.

        A run that went back to a checkpoint has such steps twice; then the number of `records`, as
        the checkpoint remembers it, says where to cut.
        """
        kept = records_until(path, after_step, records)
        begun = _written(kept)
        atomic.write_bytes(path, begun)
        self.records = len(kept)
        self._sum = sha256(begun)
        self._waiting = b""
        self._file = path.open("ab", buffering=0)
        self._board = _summary_writer(tensorboard, after_step)

    def write(self, kind: str, step: int, **numbers: Any) -> None:
        line = _written([{"kind": kind, "step": step, **numbers}])
        self.records += 1
        self._sum.update(line)
        self._waiting += line
        self._write_waiting()
        if self._board is not None:
            try:
                for name, value in numbers.items():
                    if isinstance(value, float | int):
                        self._board.add_scalar(f"{kind}/{name}", value, step)
            except OSError:  # its thread met a full disk and is no more; log.jsonl has it all
                self._board = None

    @property
    def checksum(self) -> str:
        """SHA-256 of all records, those that wait too."""
        return self._sum.hexdigest()

    def sync(self) -> None:
        """Everything to the disk: before a checkpoint that counts on it."""
        self._write_waiting()
        with suppress(OSError):
            os.fsync(self._file.fileno())

    def _write_waiting(self) -> None:
        """A full disk takes a part of a line or nothing; the rest waits."""
        while self._waiting:
            try:
                written = self._file.write(self._waiting)
            except OSError:
                return
            self._waiting = self._waiting[written or 0 :]

    def __enter__(self) -> "Log":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._write_waiting()
        self._file.close()
        if self._board is not None:
            with suppress(OSError):
                self._board.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; a last line cut by a crash is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and {"kind", "step"} <= record.keys():
            records.append(record)
    return records


def records_until(path: Path, step: int, records: int = 0) -> list[dict[str, Any]]:
    """Those of a log up to a step, or so many, which are kept when a run goes on from there."""
    kept = read_log(path) if step else []
    return kept[:records] if records else [r for r in kept if r["step"] <= step]


def log_checksum(path: Path) -> str:
    """SHA-256 of the records of a log."""
    return sha256(_written(read_log(path))).hexdigest()


def damage_to_log(path: Path, records: Iterable[dict[str, Any]], checksum: str) -> str:
    """A sentence, if these records of a log have not the checksum that was stated.

    Nothing that is trained rests on the log, so a run can go on without it.
    """
    if not checksum or sha256(_written(records)).hexdigest() == checksum:
        return ""
    return (
        f"{path}: differs from its checksum: it was damaged or changed, and curves that are drawn "
        "from it may be wrong; the weights do not depend on it"
    )


def _written(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _summary_writer(folder: Path, after_step: int) -> Any:
    """TensorBoard's writer, or None where the extra `train` is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    try:
        return SummaryWriter(str(folder), purge_step=after_step + 1 if after_step else None)
    except OSError:  # a full disk
        return None
