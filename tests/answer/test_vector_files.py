"""Vectors in files: what numpy, pyarrow and json read back is what was written, bit for bit."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from regard.answer.vector_files import in_parts, vector_file
from regard.errors import MisuseError

TEXTS = ['a "quoted" one', "zwei\nZeilen", "", "नमस्ते", "tab\there"]
VECTORS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
VECTORS[0, :3] = [1e-30, -1e30, 1 / 3]


def write(path: Path) -> None:
    with vector_file(path, 7) as writer:
        writer.add(TEXTS[:2], VECTORS[:2])
        writer.add(TEXTS[2:], VECTORS[2:])


def test_npy(tmp_path: Path) -> None:
    write(tmp_path / "v.npy")
    found = np.load(tmp_path / "v.npy", allow_pickle=False)
    assert found.dtype == np.float32 and np.array_equal(found, VECTORS)


def test_npy_of_many_rows_has_room_for_their_number(tmp_path: Path) -> None:
    with vector_file(tmp_path / "v.npy", 1) as writer:
        for _ in range(11):
            writer.add([], np.ones((100_003, 1), dtype=np.float32))
    assert np.load(tmp_path / "v.npy").shape == (1_100_033, 1)


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "v.parquet")
    table = parquet.read_table(tmp_path / "v.parquet")
    assert table.column("text").to_pylist() == TEXTS
    found = np.array(table.column("vector").to_pylist(), dtype=np.float32)
    assert np.array_equal(found, VECTORS)
    assert str(table.schema.field("vector").type).startswith("fixed_size_list<")


def test_jsonl(tmp_path: Path) -> None:
    write(tmp_path / "v.jsonl")
    lines = (tmp_path / "v.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["text"] for row in rows] == TEXTS
    assert np.array_equal(np.array([row["vector"] for row in rows], dtype=np.float32), VECTORS)


@pytest.mark.parametrize("name", ["v.npy", "v.jsonl", "v.parquet"])
def test_a_failure_on_the_way_leaves_the_file_of_before(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), vector_file(path, 7) as writer:
        writer.add(TEXTS, VECTORS)
        raise ZeroDivisionError
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_other_names_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=r"got v\.txt, expected .*\.npy, \.parquet, \.jsonl"):
        write(tmp_path / "v.txt")
    assert not list(tmp_path.iterdir())


def test_without_pyarrow_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MisuseError, match=r"regard\[parquet\]"):
        write(tmp_path / "v.parquet")


def test_parts() -> None:
    lists = [["a"], [], ["b", "c", "d", "e"], ["f"]]
    assert list(in_parts(lists, 2)) == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert list(in_parts(lists, 4)) == [["a", "b", "c", "d"], ["e", "f"]]
    assert list(in_parts([], 4)) == []
