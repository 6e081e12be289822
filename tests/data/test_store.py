"""Ids on disk: what goes in comes out, whole or not at all, and a damaged store is refused."""

import json
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.checksums import sealed
from regard.data.store import PairStore, write_store
from regard.errors import DataError

PAIRS = [([5, 6, 7], [8]), ([], [9, 10]), ([11], [])]


def as_lists(store: PairStore) -> list[tuple[list[int], list[int]]]:
    return [(s.tolist(), t.tolist()) for s, t in (store[i] for i in range(len(store)))]


ids = st.lists(st.integers(0, 299), max_size=6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(ids, ids), max_size=8))
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[int], list[int]]]
) -> None:
    store = write_store(tmp_path_factory.mktemp("s") / "train", pairs, 300)
    assert as_lists(store) == pairs
    assert store.source_lengths.tolist() == [len(s) for s, _ in pairs]
    assert store.target_lengths.tolist() == [len(t) for _, t in pairs]
    store.verify()


@pytest.mark.parametrize(
    ("vocabulary", "dtype"), [(12, np.uint16), (65_536, np.uint16), (65_537, np.uint32)]
)
def test_the_width_follows_the_vocabulary(tmp_path: Path, vocabulary: int, dtype: type) -> None:
    largest = [vocabulary - 1]
    store = write_store(tmp_path / "s", [*PAIRS, (largest, largest)], vocabulary)
    assert store[3][0].dtype == dtype and store[3][0].tolist() == largest
    assert store.vocabulary == vocabulary


def test_it_is_read_by_memory_map_also_after_pickling(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", PAIRS, 12)
    for each in (store, pickle.loads(pickle.dumps(store))):
        assert isinstance(each._source, np.memmap) and not each._source.flags.writeable
        assert np.shares_memory(each[0][0], each._source)
        assert as_lists(each) == PAIRS
    assert len(pickle.dumps(store)) < 1000


def test_lengths_do_not_depend_on_how_many_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for together in (1, 2, 3, 4):
        monkeypatch.setattr("regard.data.store._CHUNK", together)
        assert write_store(tmp_path / "s", PAIRS, 12).source_lengths.tolist() == [3, 0, 1]


def test_numbers_outside_are_an_index_error(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", PAIRS, 12)
    for wrong in (-1, 3):
        with pytest.raises(IndexError):
            store[wrong]


@pytest.mark.parametrize("wrong", [-1, 12, 70_000])
def test_a_foreign_id_is_refused_and_leaves_nothing(tmp_path: Path, wrong: int) -> None:
    with pytest.raises(DataError, match=f"got id {wrong}, expected ids from 0 to 11"):
        write_store(tmp_path / "s", [*PAIRS, ([1], [wrong])], 12)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_keeps_the_old_store(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[list[int], list[int]]]:
        yield [1], [2]
        raise DataError("stop")

    write_store(tmp_path / "s", PAIRS, 12)
    with pytest.raises(DataError, match="stop"):
        write_store(tmp_path / "s", failing(), 12)
    assert as_lists(PairStore.open(tmp_path / "s")) == PAIRS
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    write_store(tmp_path / "s", PAIRS[:1], 12)
    assert as_lists(PairStore.open(tmp_path / "s")) == PAIRS[:1]


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    def damage(name: str, content: bytes) -> None:
        write_store(tmp_path / "s", PAIRS, 12)
        (tmp_path / "s" / name).write_bytes(content)

    write_store(tmp_path / "s", PAIRS, 12)
    whole = (tmp_path / "s" / "source.npy").read_bytes()
    facts = json.loads((tmp_path / "s" / "store.json").read_bytes())
    offsets = np.array([0, 3, 1, 4])
    np.save(tmp_path / "offsets.npy", offsets)
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name, content in [
        ("source.npy", whole[:-2]),
        ("source.npy", b""),
        ("target.npy", whole),
        ("source_offsets.npy", (tmp_path / "offsets.npy").read_bytes()),
        ("source.npy", (tmp_path / "objects.npy").read_bytes()),
        ("store.json", b"{"),
        ("store.json", b"[]"),
        ("store.json", json.dumps(sealed(facts | {"version": 3})).encode()),
        ("store.json", json.dumps(sealed(facts | {"counts": {}})).encode()),
        ("store.json", json.dumps(facts | {"vocabulary": 13}).encode()),
        ("store.json", json.dumps(facts | {"version": 1}).encode()),
    ]:
        damage(name, content)
        with pytest.raises(DataError, match=r"not a usable store.*prepare it again"):
            PairStore.open(tmp_path / "s")
    with pytest.raises(DataError, match="not a usable store"):
        PairStore.open(tmp_path / "absent")
    damage("source.npy", whole[:-2] + b"\x01\x00")
    with pytest.raises(DataError, match=r"source\.npy was changed"):
        PairStore.open(tmp_path / "s").verify()


def test_writing_does_not_hold_the_corpus(tmp_path: Path) -> None:
    row = list(range(100)) * 10
    tracemalloc.start()
    try:
        store = write_store(tmp_path / "s", ((row, row) for _ in range(7_500)), 100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store._source.nbytes + store._target.nbytes == 30_000_000
    assert peak < 8_000_000
