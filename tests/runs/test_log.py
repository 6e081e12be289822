"""The log: cut where a checkpoint stood, patient with a full disk."""

import json
from pathlib import Path

import pytest

from regard.runs.log import Log, read_log


def steps(path: Path) -> list[int]:
    return [record["step"] for record in read_log(path)]


def test_a_resumed_log_is_cut_at_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with Log(path, tmp_path / "board") as log:
        for step in (1, 2, 3, 4, 2, 3, 4):  # a run that went back from 4 to 1
            log.write("train", step, loss=1.0)
        assert log.records == 7
    with Log(path, tmp_path / "board", after_step=3, records=6) as log:
        log.write("train", 4, loss=1.0)
    assert steps(path) == [1, 2, 3, 4, 2, 3, 4]
    with Log(path, tmp_path / "board", after_step=3):  # a checkpoint of before counts no records
        pass
    assert steps(path) == [1, 2, 3, 2, 3]
    with Log(path, tmp_path / "board"):
        pass
    assert steps(path) == []


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"kind": "train", "step": 1}\n{"kind": "tr\xff')
    assert steps(path) == [1]


class Full:
    """A file on a disk that takes `room` more bytes, then refuses."""

    def __init__(self, file: object, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> int:
        if self.room == 0:
            raise OSError(28, "No space left on device")
        part = data[: self.room]
        self.room -= len(part)
        return int(self.file.write(part))  # type: ignore[attr-defined]

    def close(self) -> None:
        self.file.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", [0, 1, 30, 57])
def test_records_wait_for_room(tmp_path: Path, room: int) -> None:
    path = tmp_path / "log.jsonl"
    with Log(path, tmp_path / "board") as log:
        disk = Full(log._file, room)
        log._file = disk  # type: ignore[assignment]
        for step in range(1, 6):
            log.write("train", step, loss=0.5)
        assert len(path.read_bytes()) == room
        disk.room = 10_000
        log.write("train", 6, loss=0.5)
    assert steps(path) == [1, 2, 3, 4, 5, 6]
    for line in path.read_text().splitlines():
        json.loads(line)
