"""Ids on disk: what goes in comes out, whole or not at all, and a damaged store is refused."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import refused
from regard.checksums import sealed, sha256
from regard.data.store import FLOAT, ColumnKind, Store, StoreRow, write_store
from regard.errors import DataError

Pair = tuple[list[int], list[int]]
KIND = {"below": 12, "ragged": True}
PAIRS: list[Pair] = [([5, 6, 7], [8]), ([], [9, 10]), ([11], [])]


def stored(folder: Path, pairs: Iterable[Pair], below: int = 12) -> Store:
    rows = ({"source": source, "target": target} for source, target in pairs)
    return write_store(folder, dict.fromkeys(("source", "target"), ColumnKind(below)), rows)


def as_lists(store: Store) -> list[Pair]:
    both = store["source"], store["target"]
    return [(both[0][i].tolist(), both[1][i].tolist()) for i in range(len(store))]


ids = st.lists(st.integers(0, 299), max_size=6)


@settings(max_examples=30)
@given(st.lists(st.tuples(ids, ids), max_size=8))
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    store = stored(tmp_path_factory.mktemp("s") / "train", pairs, 300)
    assert as_lists(store) == pairs
    assert store["source"].lengths.tolist() == [len(s) for s, _ in pairs]
    assert store["target"].lengths.tolist() == [len(t) for _, t in pairs]
    store.verify()


def test_columns_of_every_kind_and_any_number(tmp_path: Path) -> None:
    kinds = {
        "text": ColumnKind(70_000),
        "tags": ColumnKind(4),
        "first": ColumnKind(10, ragged=False),
        "score": FLOAT,
    }
    rows: list[StoreRow] = [
        {"text": [69_999, 1], "tags": [0, 3], "first": 2, "score": 0.25},
        {"text": [7], "tags": [2], "first": 1, "score": 1 / 3},
    ]
    store = write_store(tmp_path / "s", kinds, iter(rows))
    assert len(store) == 2 and store.kinds == kinds
    assert store["text"][0].tolist() == [69_999, 1] and store["text"][0].dtype == np.uint32
    assert store["tags"][1].tolist() == [2] and store["tags"][0].dtype == np.uint8
    assert store.numbers["first"].tolist() == [2, 1]
    assert store.numbers["score"].tolist() == [0.25, float(np.float32(1 / 3))]
    store.verify()
    content = (tmp_path / "s/score.npy").read_bytes()
    (tmp_path / "s/score.npy").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with refused(DataError, problem="score.npy was changed"):
        store.verify()


@pytest.mark.parametrize(
    ("below", "dtype"),
    [(12, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)],
)
def test_the_width_follows_the_bound(tmp_path: Path, below: int, dtype: type) -> None:
    largest = [below - 1]
    store = stored(tmp_path / "s", [*PAIRS, (largest, largest)], below)
    assert store["source"][3].dtype == dtype and store["source"][3].tolist() == largest
    assert store["source"].below == below


def older(folder: Path, version: int) -> None:
    """What earlier versions wrote, by numpy's own hand."""
    folder.mkdir()
    arrays: dict[str, Any] = {}
    for side, rows in zip(("source", "target"), zip(*PAIRS, strict=True), strict=True):
        arrays[side] = np.array([i for row in rows for i in row], dtype=np.uint16)
        arrays[f"{side}_offsets"] = np.cumsum([0, *map(len, rows)])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    facts = {
        "version": version,
        "vocabulary": 12,
        "counts": {name: len(array) for name, array in arrays.items()},
        "sha256": {name: sha256(folder / f"{name}.npy") for name in arrays},
    }
    (folder / "store.json").write_text(json.dumps(facts if version == 1 else sealed(facts)))


@pytest.mark.parametrize("version", [1, 2])
def test_stores_of_earlier_versions_are_read(tmp_path: Path, version: int) -> None:
    older(tmp_path / "s", version)
    store = Store.open(tmp_path / "s")
    store.verify()
    assert as_lists(store) == PAIRS
    assert store.kinds == {"source": ColumnKind(12), "target": ColumnKind(12)}
    older(tmp_path / "x", 4)
    with refused(DataError, problem="not a usable store"):
        Store.open(tmp_path / "x")


def test_the_first_id_of_each_row_and_the_others(tmp_path: Path) -> None:
    column = stored(tmp_path / "s", [([5, 6, 7], []), ([8], []), ([9, 10], [])])["source"]
    assert column.heads().tolist() == [5, 8, 9]
    rest = column.tails()
    assert [rest[i].tolist() for i in range(3)] == [[6, 7], [], [10]]
    assert rest.lengths.tolist() == [2, 0, 1]


def test_it_is_read_by_memory_map(tmp_path: Path) -> None:
    column = stored(tmp_path / "s", PAIRS)["source"]
    assert isinstance(column.values, np.memmap) and not column.values.flags.writeable
    assert np.shares_memory(column[0], column.values)


def test_lengths_do_not_depend_on_how_many_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for together in (1, 2, 3, 4):
        monkeypatch.setattr("regard.data.store._CHUNK", together)
        assert stored(tmp_path / "s", PAIRS)["source"].lengths.tolist() == [3, 0, 1]


def test_numbers_outside_are_an_index_error(tmp_path: Path) -> None:
    store = stored(tmp_path / "s", PAIRS)
    for wrong in (-1, 3):
        with pytest.raises(IndexError):
            store["source"][wrong]


@pytest.mark.parametrize("wrong", [-1, 12, 70_000])
def test_a_foreign_id_is_refused_and_leaves_nothing(tmp_path: Path, wrong: int) -> None:
    with pytest.raises(DataError, match=f"got id {wrong}, expected ids from 0 to 11"):
        stored(tmp_path / "s", [*PAIRS, ([1], [wrong])])
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_keeps_the_old_store(tmp_path: Path) -> None:
    def failing() -> Iterator[Pair]:
        yield [1], [2]
        raise DataError("stop")

    stored(tmp_path / "s", PAIRS)
    with pytest.raises(DataError, match="stop"):
        stored(tmp_path / "s", failing())
    assert as_lists(Store.open(tmp_path / "s")) == PAIRS
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    stored(tmp_path / "s", PAIRS[:1])
    assert as_lists(Store.open(tmp_path / "s")) == PAIRS[:1]


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    def damage(name: str, content: bytes) -> None:
        stored(tmp_path / "s", PAIRS)
        (tmp_path / "s" / name).write_bytes(content)

    stored(tmp_path / "s", PAIRS)
    whole = (tmp_path / "s" / "source.npy").read_bytes()
    facts = json.loads((tmp_path / "s" / "store.json").read_bytes())
    offsets = np.array([0, 3, 1, 4])
    np.save(tmp_path / "offsets.npy", offsets)
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name, content in [
        ("source.npy", whole[:-1]),
        ("source.npy", b""),
        ("target.npy", whole),
        ("source_offsets.npy", (tmp_path / "offsets.npy").read_bytes()),
        ("source.npy", (tmp_path / "objects.npy").read_bytes()),
        ("store.json", b"{"),
        ("store.json", b"[]"),
        ("store.json", json.dumps(sealed(facts | {"version": 4})).encode()),
        ("store.json", json.dumps(sealed(facts | {"counts": {}})).encode()),
        ("store.json", json.dumps(sealed(facts | {"columns": {"../s": KIND}})).encode()),
        ("store.json", json.dumps(sealed(facts | {"columns": {"source": KIND}})).encode()),
        ("store.json", json.dumps(facts | {"columns": {}}).encode()),
        ("store.json", json.dumps(facts | {"version": 1}).encode()),
    ]:
        damage(name, content)
        with refused(DataError, problem="not a usable store"):
            Store.open(tmp_path / "s")
    with refused(DataError, problem="not a usable store"):
        Store.open(tmp_path / "absent")
    damage("source.npy", whole[:-1] + b"\x01")
    with refused(DataError, problem="source.npy was changed"):
        Store.open(tmp_path / "s").verify()


def test_writing_does_not_hold_the_corpus(tmp_path: Path) -> None:
    row = list(range(100)) * 10
    tracemalloc.start()
    try:
        store = stored(tmp_path / "s", ((row, row) for _ in range(7_500)), 300)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store["source"].values.nbytes + store["target"].values.nbytes == 30_000_000
    assert peak < 8_000_000
