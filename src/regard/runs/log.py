"""The log of a run: JSON lines, and the same numbers for TensorBoard where it is installed."""

import errno
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from regard import atomic
from regard.printable import counted
from regard.untrusted import read_small_file

MAX_LOG = 1 << 30  # bytes
WRITER = "_AsyncWriterThread"  # of TensorBoard

Listener = Callable[[dict[str, Any]], None]  # hears each record as it is written


class Log:
    """Appends records to log.jsonl; a record has `step`, `kind` and numbers.

    A full disk does not end a training: records wait in memory until there is room again.
    """

    def __init__(
        self,
        path: Path,
        tensorboard: Path,
        after_step: int = 0,
        records: int = 0,
        listener: Listener = lambda record: None,
    ) -> None:
        """On resume, records later than `after_step` are dropped: those steps are done again.

        A run that went back to a checkpoint has such steps twice; then the number of `records`, as
        the checkpoint remembers it, says where to cut.
        """
        self._path, self._tensorboard, self._listener = path, tensorboard, listener
        kept = records_until(path, after_step, records)
        begun = _written(kept)
        atomic.write_bytes(path, begun)
        self.records = len(kept)
        self._sum = sha256(begun)
        self._waiting = b""
        self._why = ""  # the last write failed
        self._board_failed = ""
        self._file = path.open("ab", buffering=0)
        self._opened = os.fstat(self._file.fileno())
        self._hook = threading.excepthook
        self._board = self._summary_writer(after_step)

    def write(self, kind: str, step: int, **numbers: Any) -> None:
        record = {"kind": kind, "step": step, **numbers}
        line = _written([record])
        self.records += 1
        self._sum.update(line)
        self._waiting += line
        self._write_waiting()
        board = self._board  # its own thread may drop it at any moment
        if board is not None:
            try:
                self._check_place()
                for name, value in numbers.items():
                    if isinstance(value, float | int):
                        board.add_scalar(f"{kind}/{name}", value, step)
            except OSError as error:  # its thread met a full disk and is no more
                self._drop_board(error)
        self._listener(record)

    @property
    def checksum(self) -> str:
        """SHA-256 of all records, those that wait too."""
        return self._sum.hexdigest()

    def sync(self) -> None:
        """Everything to the disk: before a checkpoint that counts on it."""
        self._write_waiting()
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._why = error.strerror or str(error)

    @property
    def unwritten(self) -> str:
        """What is not on the disk, and why; empty if all is."""
        waiting = self._waiting.count(b"\n")
        if not waiting:
            return ""
        return f"{self._path}: {counted(waiting, 'record')} could not be written: {self._why}"

    @property
    def board_failed(self) -> str:
        """Why TensorBoard's files end early; log.jsonl has it all."""
        return f"{self._tensorboard}: {self._board_failed}" if self._board_failed else ""

    def _write_waiting(self) -> None:
        """A full disk takes a part of a line or nothing; the rest waits."""
        while self._waiting:
            try:
                written = self._file.write(self._waiting)
            except OSError as error:
                self._why = error.strerror or str(error)
                return
            self._waiting = self._waiting[written or 0 :]

    def __enter__(self) -> "Log":
        threading.excepthook = self._on_error_of_a_thread
        return self

    def _on_error_of_a_thread(self, error: threading.ExceptHookArgs) -> None:
        """TensorBoard writes in a thread; a full disk is told in a sentence, not by a traceback."""
        if isinstance(error.exc_value, OSError) and type(error.thread).__name__ == WRITER:
            self._drop_board(error.exc_value)
        else:
            self._hook(error)

    def __exit__(self, *error: object) -> None:
        self._write_waiting()
        self._file.close()
        board = self._board
        if board is not None:
            try:
                board.close()
            except OSError as failed:
                self._drop_board(failed)
        threading.excepthook = self._hook

    def _summary_writer(self, after_step: int) -> Any:
        """TensorBoard's writer, or None where the extra `train` is not installed."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return None
        place = str(self._tensorboard)
        try:
            return SummaryWriter(place, purge_step=after_step + 1 if after_step else None)
        except OSError as error:  # a full disk
            self._drop_board(error)
            return None

    def _check_place(self) -> None:
        """TensorBoard opens its file by name again and again: after a move, in another's folder."""
        if not os.path.samestat(self._opened, self._path.stat()):
            raise FileNotFoundError(errno.ENOENT, "its folder was moved", str(self._tensorboard))

    def _drop_board(self, error: OSError) -> None:
        self._board = None
        self._board_failed = error.strerror or str(error)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; a last line cut by a crash, and whatever is no record, is left out."""
    return _records(_lines(path))


def broken_lines(path: Path) -> int:
    """How many lines of a log are no records, but for a last one that a crash cut."""
    lines = _lines(path)
    whole = lines if not lines or _read(lines[-1]) is not None else lines[:-1]
    return len(whole) - len(_records(whole))


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    text = read_small_file(path, MAX_LOG).decode("utf-8", errors="replace")
    return [line for line in text.replace("\r\n", "\n").split("\n") if line]


def records_until(path: Path, step: int, records: int = 0) -> list[dict[str, Any]]:
    """Those up to a step, or of so many lines, which are kept when a run goes on from there."""
    lines = _lines(path) if step else []
    if records:
        return _records(lines[:records])
    return [record for record in _records(lines) if record["step"] <= step]


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


def _records(lines: Sequence[str]) -> list[dict[str, Any]]:
    return [record for record in map(_read, lines) if record is not None]


def _read(line: str) -> dict[str, Any] | None:
    """A record; None if the line is something else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return None
    has_step = type(record.get("step")) is int
    short = all(type(n) is not int or abs(n) < 1 << 63 for n in record.values())
    return record if has_step and short else None
