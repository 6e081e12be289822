"""Nothing is half written: an error while writing leaves what was there before."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from regard import atomic


def test_text_replaces_a_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a" / "file.txt"
    atomic.write_text(path, "one")
    atomic.write_text(path, "zwei ü")
    assert path.read_text(encoding="utf-8") == "zwei ü"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    atomic.write_text(path, "old")

    def full_disk(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="disk full"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with atomic.new_folder(path) as temporary:
        (temporary / "x").write_text("1")
        assert not path.exists()
    assert (path / "x").read_text() == "1"


def test_an_error_inside_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with atomic.new_folder(path) as temporary:
        (temporary / "x").write_text("old")
    with pytest.raises(OSError, match="full"), atomic.new_folder(path) as temporary:
        (temporary / "x").write_text("new")
        raise OSError("disk full")
    assert (path / "x").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_sweep_removes_leftovers_only(tmp_path: Path) -> None:
    (tmp_path / ".tmp-step-1-99").mkdir()
    (tmp_path / ".tmp-file-99").write_text("half")
    (tmp_path / "step-1").mkdir()
    atomic.sweep(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["step-1"]


@pytest.mark.parametrize("name", ["folder", "."])
def test_a_folder_in_the_way_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IsADirectoryError) as caught:
        atomic.write_text(Path(name), "text")
    assert caught.value.filename == name
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def refuse_while_open(monkeypatch: pytest.MonkeyPatch, times: int) -> list[float]:
    """A system like Windows, where another program has the file open for a while."""
    waits: list[float] = []
    monkeypatch.setattr(atomic, "is_refused_while_open", lambda: True)
    monkeypatch.setattr("time.sleep", waits.append)
    really = Path.replace

    def replace(old: Path, new: Path) -> Path:
        if len(waits) < times:
            raise PermissionError(13, "in use", str(new))
        return really(old, new)

    monkeypatch.setattr(Path, "replace", replace)
    return waits


def test_a_file_that_others_have_open_is_replaced_when_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = refuse_while_open(monkeypatch, times=3)
    atomic.write_text(tmp_path / "file.txt", "new")
    with atomic.new_folder(tmp_path / "folder") as temporary:
        (temporary / "x").write_text("1")
    assert (tmp_path / "file.txt").read_text() == "new" and len(waits) == 3
    assert (tmp_path / "folder/x").read_text() == "1"


def test_one_that_they_keep_open_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    waits = refuse_while_open(monkeypatch, times=99)
    with pytest.raises(PermissionError, match="in use"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    assert tuple(waits) == atomic.WAITS


def test_elsewhere_a_refusal_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = refuse_while_open(monkeypatch, times=1)
    monkeypatch.setattr(atomic, "is_refused_while_open", lambda: False)
    with pytest.raises(PermissionError):
        atomic.write_text(tmp_path / "file.txt", "new")
    assert not waits


def test_a_folder_that_another_made_meanwhile_can_stay(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with atomic.new_folder(path, replace=False) as ours:
        (ours / "file").write_text("ours")
        path.mkdir()
        (path / "file").write_text("theirs")
    assert (path / "file").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and devices as Unix has them")


@posix
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    old = tmp_path / "deep/file.txt"
    old.write_text("old")
    kept = old.open()  # who has the old file open keeps it: it was replaced, not written into
    (tmp_path / "second").symlink_to("deep/file.txt")
    link = tmp_path / "deep/first"
    link.symlink_to("../second")  # a chain, relative to its own folder
    atomic.write_text(link, "new")
    assert link.is_symlink() and (tmp_path / "second").is_symlink()
    assert old.read_text() == "new" and kept.read() == "old"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["deep", "file.txt", "first", "second"]
    kept.close()


@posix
def test_a_link_to_nothing_yet_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere/file.txt")
    atomic.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere/file.txt").read_text() == "new"


@posix
def test_links_in_a_circle_and_links_to_folders_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        atomic.write_text(tmp_path / "a", "text")
    assert caught.value.errno == errno.ELOOP
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(IsADirectoryError):
        atomic.write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink() and not list((tmp_path / "folder").iterdir())


@posix
def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with atomic.new_folder(tmp_path / "link") as temporary:
        (temporary / "x").write_text("1")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real/x").read_text() == "1"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError), atomic.new_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "mine"


@posix
def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with atomic.new_file(pipe) as file:
            file.write(b"....\n")
            file.seek(0)  # as a header that is known at the end
            file.write(b"head")
        if not stat.S_ISFIFO(pipe.lstat().st_mode):
            reader.kill()  # it would wait for ever
        assert reader.stdout is not None and reader.stdout.read() == b"head\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode) and list(tmp_path.iterdir()) == [pipe]


def device(path: Path, minor: int) -> Path:
    """A device of our own like /dev/null (3) or /dev/full (7): never one of the system's."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("wb").close()
    except OSError:
        pytest.skip("making a device is not allowed here")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="devices have other numbers")
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    nothing = device(tmp_path / "null", 3)
    link = tmp_path / "link"
    link.symlink_to(nothing)
    for path in (nothing, link):
        atomic.write_text(path, "text")
        assert stat.S_ISCHR(path.stat().st_mode)
    full = device(tmp_path / "full", 7)
    with pytest.raises(OSError) as caught:
        atomic.write_text(full, "text")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(full))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full", "link", "null"]


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors have other names")
@pytest.mark.parametrize("name", ["/proc/self/fd/1", "/dev/fd/1", "link"])
def test_standard_output_by_its_name_is_written_after_what_was_said(
    name: str, tmp_path: Path
) -> None:
    """As /dev/stdout, which is a link too; here none that this test could ever replace."""
    (tmp_path / "link").symlink_to("/proc/self/fd/1")
    code = (
        "from pathlib import Path\nfrom regard import atomic\nprint('said')\n"
        f"atomic.write_text(Path({name!r}), 'written\\n')\nprint('said again')"
    )
    command = [sys.executable, "-c", code]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert piped.stdout == "said\nwritten\nsaid again\n", piped.stderr
    with (tmp_path / "out.txt").open("w") as file:
        subprocess.run(command, cwd=tmp_path, stdout=file, check=True)
    assert (tmp_path / "out.txt").read_text() == piped.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "out.txt"]


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_names_what_was_asked_for(tmp_path: Path, reason: int) -> None:
    with pytest.raises(OSError) as caught, atomic.new_file(tmp_path / "file"):
        raise OSError(reason, os.strerror(reason))  # as a file object does, without a name
    assert caught.value.filename == str(tmp_path / "file")
    with pytest.raises(OSError) as caught, atomic.new_folder(tmp_path / "folder") as temporary:
        raise OSError(reason, os.strerror(reason), str(temporary / "part"))
    assert caught.value.filename == str(tmp_path / "folder/part")
    with pytest.raises(OSError) as caught, atomic.new_file(tmp_path / "file"):
        (tmp_path / "absent").read_text()
    assert caught.value.filename == str(tmp_path / "absent")  # another's error stays as it is
    assert not list(tmp_path.iterdir())


def test_of_known_names_only_what_they_left_is_swept(tmp_path: Path) -> None:
    left = [".tmp-file-99", ".tmp-removed-file-98"]
    others = [".tmp-file", ".tmp-file-notes", ".tmp-other-99", "file-99", ".tmp-drafts"]
    for name in left + others:
        (tmp_path / name).write_text("x")
    atomic.sweep(tmp_path, ["file"])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(others)


def test_a_link_to_a_folder_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    """Somebody moved a checkpoint to a larger disk, and linked it."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far/file").touch()
    for number in range(2):
        (tmp_path / "here").mkdir(exist_ok=True)
        (tmp_path / "here/link").symlink_to(tmp_path / "far")
        if number:
            atomic.remove_folder(tmp_path / "here/link")
        else:
            (tmp_path / "here/link").rename(tmp_path / "here/.tmp-link-77")
            atomic.sweep(tmp_path / "here")
        assert not any((tmp_path / "here").iterdir())
    assert (tmp_path / "far/file").exists()
