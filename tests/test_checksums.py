"""Checksums: every change is noticed, names stay in their folder, memory cannot be forged."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from refusals import refused
from regard import checksums
from regard.checksums import (
    NAME,
    add_checksums,
    check,
    is_whole,
    note_once,
    read_checksums,
    sealed,
    sha256,
    states_its_own,
    unsealed,
    write_checksums,
)
from regard.errors import CheckpointError, DamageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "folder"
    (made / "data").mkdir(parents=True)
    (made / "a.txt").write_text("alpha")
    (made / "data/b.txt").write_text("beta")
    add_checksums(made, ["a.txt", "data/b.txt"])
    return made


def test_an_object_knows_its_own_checksum(tmp_path: Path) -> None:
    values = {"name": "größe", "numbers": [1, 2.5, None], "inner": {"b": 1, "a": 2}}
    text = json.dumps(sealed(values), indent=2, ensure_ascii=False)
    assert unsealed(json.loads(text), tmp_path / "x.json") == values
    assert sealed(sealed(values)) == sealed(values)
    assert states_its_own(values) is None
    for old, new in (("größe", "gröbe"), ("2.5", "2.6"), ('"a": 2', '"c": 2'), ('"ch', '"cj')):
        changed = json.loads(text.replace(old, new, 1))
        assert states_its_own(changed) in (False, None) and changed != json.loads(text)


def test_an_object_without_one_is_damaged_only_where_the_folder_has_checksums(
    folder: Path, tmp_path: Path
) -> None:
    assert unsealed({"a": 1}, tmp_path / "x.json") == {"a": 1}
    with refused(DamageError, subject="x.json", problem="differs from its checksum"):
        unsealed({"a": 1}, folder / "x.json")
    with refused(DamageError, advice='delete its line "checksum"'):
        unsealed(sealed({"a": 1}) | {"a": 2}, tmp_path / "x.json")


def test_a_changed_a_missing_and_a_strange_file(folder: Path) -> None:
    check(folder)
    (folder / "new.txt").write_text("nobody states it")
    check(folder, ["new.txt", "a.txt"])
    (folder / "data/b.txt").write_text("bela")
    check(folder, ["a.txt"])  # nobody asked for the other
    with refused(DamageError, subject="b.txt", problem="differs", advice="checksums.json"):
        check(folder)
    (folder / "a.txt").unlink()
    with refused(DamageError, subject="a.txt", problem="is missing"):
        check(folder, ["a.txt"])
    (folder / NAME).unlink()
    check(folder)  # as one that was made without


def test_every_byte_of_the_checksums_counts(folder: Path) -> None:
    whole, stated = (folder / NAME).read_bytes(), read_checksums(folder)
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 + place % 255
        (folder / NAME).write_bytes(data)
        try:
            found = read_checksums(folder)
        except CheckpointError as error:
            assert NAME in str(error)
        else:  # a space that became another one
            assert found == stated and chr(whole[place]).isspace()


@pytest.mark.parametrize("name", ["../a.txt", "/etc/hostname", "data/../../x", "c:\\x", "", "a\\b"])
def test_a_name_that_leads_out_is_refused(folder: Path, name: str) -> None:
    write_checksums(folder, {name: "0" * 64})
    with refused(CheckpointError, problem="not a file of this folder"):
        check(folder)


def test_something_without_an_end_is_not_read(folder: Path) -> None:
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to("/dev/zero")
    with refused(CheckpointError, problem="not an ordinary file"):
        check(folder, ["a.txt"])


class Counting:
    """How often a file was read whole."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count, real = 0, checksums.sha256

        def counted(path: Path) -> str:
            self.count += 1
            return real(path)

        patch.setattr(checksums, "sha256", counted)


def aged(file: Path, content: bytes) -> str:
    """A file whose last change is long enough ago to be remembered; its checksum."""
    file.write_bytes(content)
    time.sleep(0.05)
    return sha256(file)


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as large, in a world where a moment is long."""
    monkeypatch.setattr(checksums, "LARGE", 10)
    monkeypatch.setattr(checksums, "SETTLED", 10**6)
    return folder / "large.bin"


def test_a_large_file_is_read_once(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = aged(large, bytes(1000))
    counting = Counting(monkeypatch)
    assert [is_whole(large, digest) for _ in range(3)] == [True] * 3 and counting.count == 1
    assert not is_whole(large, "0" * 64)  # what is remembered is the checksum, not "good"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + checksums.HOLDS + 1)
    counting.count = 0
    assert is_whole(large, digest) and counting.count == 1  # a day is over


def test_a_byte_that_flips_with_its_time_set_back_is_noticed(large: Path) -> None:
    """The second time stamp of a file cannot be set by hand."""
    digest = aged(large, bytes(1000))
    assert is_whole(large, digest)
    before = large.stat()
    with large.open("r+b") as file:
        file.seek(500)
        file.write(b"\x01")
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = large.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert not is_whole(large, digest)


def test_a_small_file_is_always_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(monkeypatch)
    for _ in range(3):
        check(folder)
    assert counting.count == 6


def test_a_file_of_this_moment_is_not_remembered(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could change again without another time stamp."""
    monkeypatch.setattr(checksums, "SETTLED", 10**12)
    digest = aged(large, bytes(1000))
    counting = Counting(monkeypatch)
    assert is_whole(large, digest) and is_whole(large, digest) and counting.count == 2


def test_what_is_remembered_can_be_damaged_too(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = aged(large, bytes(1000))
    assert is_whole(large, digest)
    (memory,) = (tmp_path / "cache/checked").iterdir()
    whole, chance = memory.read_bytes(), random.Random(1)
    large.write_bytes(bytes(999) + b"\x01")
    for _ in range(50):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= chance.randint(1, 255)
        memory.write_bytes(data)
        assert not is_whole(large, digest)


def test_a_note_is_said_once(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        note_once(tmp_path / "one", "old")
        note_once(tmp_path / "two", "old too")
    assert capsys.readouterr().err == "Note: old\nNote: old too\n"
