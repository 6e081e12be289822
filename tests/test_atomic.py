"""Nothing is half written: an error while writing leaves what was there before."""

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
