"""Files that are none, JSON that is a trap: an error that says so, at once."""

import os
from pathlib import Path

import pytest

from refusals import refused
from regard.errors import CheckpointError, DataError
from regard.lock import held
from regard.untrusted import opened, read_json, read_small_file, strict_json


def pipe(path: Path) -> None:
    os.mkfifo(path)


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


NO_FILES = {
    "a named pipe": (pipe, "a named pipe, not an ordinary file"),
    "a link to a pipe": (linked_pipe, "a named pipe, not an ordinary file"),
    "a link to /dev/zero": (
        lambda path: path.symlink_to("/dev/zero"),
        "a device, not an ordinary file",
    ),
    "a folder": (Path.mkdir, "a folder, not an ordinary file"),
    "a link to itself": (lambda path: path.symlink_to("x"), "Too many levels"),
    "nothing": (lambda path: None, "No such file"),
}


@pytest.mark.skipif(os.name == "nt", reason="neither pipes nor devices have names there")
@pytest.mark.parametrize("name", NO_FILES)
def test_what_is_no_file_is_not_waited_for(name: str, tmp_path: Path) -> None:
    make, message = NO_FILES[name]
    make(tmp_path / "x")
    with pytest.raises(OSError, match=message):
        opened(tmp_path / "x")
    for refusal in (CheckpointError, DataError):
        with pytest.raises(refusal, match=f"x: cannot be read: {message}"):
            read_small_file(tmp_path / "x", 10, refusal)


@pytest.mark.skipif(os.name == "nt", reason="links take a right there that users lack")
def test_links_are_followed_unless_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    with opened(tmp_path / "link") as file:
        assert file.read() == b"content"
    with pytest.raises(OSError, match="a link, not an ordinary file"):
        opened(tmp_path / "link", follow=False)


@pytest.mark.skipif(os.name == "nt", reason="its locks are of another kind")
def test_a_lock_neither_waits_for_a_pipe_nor_makes_a_file_elsewhere(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("pipe", "link"):
        with pytest.raises(OSError), held(tmp_path / name):
            pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_may_not_be_longer_than_its_kind(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_small_file(tmp_path / "x", 5) == b"12345"
    with refused(CheckpointError, problem="5 bytes", expected="at most 4"):
        read_small_file(tmp_path / "x", 4)


TRAPS = {
    "100,000 brackets": (b"[" * 100_000, "nested too deep"),
    "40 objects in one another": (b'{"a":' * 40 + b"1" + b"}" * 40, "nested too deep"),
    "5,000 digits": (b'{"a": ' + b"9" * 5000 + b"}", "a number of 5000 digits"),
    "infinite": (b'{"a": 1e999}', "out of range"),
    "NaN": (b'{"a": NaN}', "NaN is no number"),
    "a name twice": (b'{"a": 1, "a": 2}', "twice"),
    "no UTF-8": (b'{"a": "\xff"}', "not valid JSON"),
    "half a character": (b"\xed\xa0\x80", "not valid JSON"),
    "half a character, spelled out": (b'{"pad_token": "\\uD800"}', "lone surrogate"),
    "a name of half a character": (b'{"\\udc00x": 1}', "lone surrogate"),
    "many parts": (b"[" + b"1," * 500_000 + b"1]", "at most 400000"),
    "nothing": (b"", "not valid JSON"),
}


@pytest.mark.parametrize("name", TRAPS)
def test_json_that_is_a_trap(name: str, tmp_path: Path) -> None:
    data, message = TRAPS[name]
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(CheckpointError, match=f"x.json: .*{message}"):
        read_json(tmp_path / "x.json", 1 << 22)
    with pytest.raises(DataError, match=message):
        strict_json(data, "line 1", refusal=DataError)


def test_a_character_in_two_halves_is_one() -> None:
    """As many writers of JSON spell what lies beyond 16 bits."""
    assert strict_json(b'{"a": "\\ud83d\\ude00"}', "x") == {"a": "😀"}
    assert strict_json(rb'{"a": "C:\\udder"}', "x") == {"a": r"C:\udder"}


def test_what_python_writes_for_numbers_that_are_none() -> None:
    """A training that has no best loss yet keeps an infinite one."""
    assert strict_json(b'{"best": Infinity}', "x", constants=True) == {"best": float("inf")}
