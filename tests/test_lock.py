"""A lock between processes, by each of its ways: one holder, free again however that one ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from regard import lock

CODE = """
import sys
from pathlib import Path
from regard import lock
lock.can_flock = lambda: {flock}
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["flock", "SQLite"])
def flock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    fast = request.param == "flock"
    if fast and not lock.can_flock():
        pytest.skip("this system has no flock")
    monkeypatch.setattr(lock, "can_flock", lambda: fast)
    return fast


def holder(path: Path, flock: bool) -> subprocess.Popen[str]:
    """Another process that holds the lock until its input ends."""
    pipe = subprocess.PIPE
    code = CODE.format(flock=flock)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=pipe, stdout=pipe, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_one_process_holds_it_until_it_is_killed(tmp_path: Path, flock: bool) -> None:
    path = tmp_path / ".lock"
    other = holder(path, flock)
    try:
        with pytest.raises(lock.Taken, match="another process"), lock.held(path):
            pass
    finally:
        end(other)
    with lock.held(path):  # nothing of it is left behind
        assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_the_same_process_cannot_hold_it_twice(tmp_path: Path, flock: bool) -> None:
    path = tmp_path / ".lock"
    with lock.held(path), pytest.raises(lock.Taken), lock.held(path):
        pass
    with pytest.raises(ZeroDivisionError), lock.held(path):
        raise ZeroDivisionError
    with lock.held(path):
        pass


def test_who_waits_gets_it_afterwards(
    tmp_path: Path, flock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".lock"
    other, waits = holder(path, flock), []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        end(other)

    monkeypatch.setattr("time.sleep", wait)
    with lock.held(path, wait=True):
        assert waits == [lock.PATIENCE]


def test_a_place_that_is_not_there_is_named(tmp_path: Path, flock: bool) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"), lock.held(tmp_path / "nowhere/.lock"):
        pass
