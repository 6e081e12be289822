"""The log of a run: JSON lines, and the same numbers for TensorBoard where it is installed."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any

from regard import atomic


class Log:
    """Appends records to log.jsonl; a record has `step`, `kind` and numbers."""

    def __init__(self, path: Path, tensorboard: Path, after_step: int = 0) -> None:
        """On resume, records later than `after_step` are dropped: those steps are done again."""
        kept = [r for r in read_log(path) if r["step"] <= after_step] if after_step else []
        atomic.write_text(path, "".join(json.dumps(record) + "\n" for record in kept))
        self._file = path.open("a", encoding="utf-8")
        self._board = _summary_writer(tensorboard, after_step)

    def write(self, kind: str, step: int, **numbers: Any) -> None:
        self._file.write(json.dumps({"kind": kind, "step": step, **numbers}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in numbers.items():
                if isinstance(value, float | int):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def __enter__(self) -> "Log":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; a last line cut by a crash is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def _summary_writer(folder: Path, after_step: int) -> Any:
    """TensorBoard's writer, or None where the extra `train` is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=after_step + 1 if after_step else None)
