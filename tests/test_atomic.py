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


def test_a_folder_that_another_made_meanwhile_can_stay(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with atomic.new_folder(path, replace=False) as ours:
        (ours / "file").write_text("ours")
        path.mkdir()
        (path / "file").write_text("theirs")
    assert (path / "file").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]
