"""GGUF files that lie: each a named error, soon, and without the memory that they ask for."""

import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gguf_files
from refusals import refused
from regard.bundle.bundle import open_bundle
from regard.bundle.doctor import examine, lines
from regard.checkpoint.gguf import check_gguf, load_gguf
from regard.errors import CheckpointError, RegardError

HUGE = 2**60


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def head(tensors: int = 0, pairs: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs)


def pair(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: bytes, shape: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    axes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + axes + struct.pack("<IQ", kind, offset)


def listed(item: int, count: int, data: bytes = b"") -> bytes:
    return struct.pack("<IQ", item, count) + data


LIES = {
    "cut after its letters": b"GGUF",
    "version": head(version=9),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "tensors": head(tensors=HUGE),
    "pairs": head(pairs=HUGE),
    "length of a key": head(pairs=1) + struct.pack("<Q", HUGE),
    "length of a text": head(pairs=1) + pair(b"a", 8, struct.pack("<Q", HUGE)),
    "list of texts": head(pairs=1) + pair(b"a", 9, listed(8, HUGE)),
    "list of numbers": head(pairs=1) + pair(b"a", 9, listed(10, HUGE)),
    "list beyond the file": head(pairs=1) + pair(b"a", 9, listed(0, 1000)),
    "list in a list": head(pairs=1) + pair(b"a", 9, listed(9, 1, listed(9, 1))),
    "kind of a value": head(pairs=1) + pair(b"a", 77, b""),
    "no Unicode": head(pairs=1) + pair(b"a", 8, text(b"\xff\xfe")),
    "a key twice": head(pairs=2) + pair(b"a", 0, b"\1") + pair(b"a", 0, b"\2"),
    "axes": head(tensors=1) + text(b"w") + struct.pack("<I", 2**31),
    "long axis": head(tensors=1) + tensor(b"w", (HUGE, HUGE)),
    "offset": head(tensors=1) + tensor(b"w", (1,), offset=HUGE) + bytes(64),
    "crooked offset": head(tensors=1) + tensor(b"w", (1,), offset=3) + bytes(64),
    "half a block": head(tensors=1) + tensor(b"w", (7,), 8) + bytes(64),
    "a tensor twice": head(tensors=2) + 2 * tensor(b"w", (1,)) + bytes(64),
    "on one another": head(2) + tensor(b"v", (8,)) + tensor(b"w", (8,)) + bytes(96),
    "alignment": head(pairs=1) + pair(b"general.alignment", 4, struct.pack("<I", 0)),
    "no architecture": head(),
}


@pytest.mark.parametrize("name", LIES)
def test_a_header_that_lies(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(LIES[name])
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="a.gguf"):
        check_gguf(path)
    list(lines(examine(path)))
    # none of the sizes above was believed
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()


def written(path: Path, **changes: Any) -> Path:
    return gguf_files.write(path / "a.gguf", gguf_files.twin(), **changes)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"arch": "qwen2"}, {"got": "qwen2", "expected": "llama (Llama 1 to 3"}),
        ({"vocab_size": 95}, {"got": 95, "expected": "96"}),
        ({"rope.dimension_count": 8}, {"got": 8}),
        ({"embedding_length": 32}, {"expected": "8, as the rest of the file"}),
        ({"block_count": 3}, {"problem": "blk.2.attn_q.weight"}),
        ({"block_count": 1}, {"problem": "belong to no part of this model"}),
        ({"block_count": 500_000_000}, {}),
        ({"attention.head_count": 0}, {}),
        ({"attention.head_count": [4, 4]}, {"problem": "a list"}),
        ({"attention.head_count_kv": 3}, {}),
        ({"feed_forward_length": 2**31}, {}),
        ({"context_length": "long"}, {}),
        ({"attention.layer_norm_rms_epsilon": float("nan")}, {}),
        ({"rope.freq_base": -1.0}, {}),
        ({"context_length": None}, {"problem": "'llama.context_length' is missing"}),
        ({"expert_count": 8}, {"problem": "llama.expert_count = 8"}),
        ({"rope.scaling.type": "yarn"}, {"got": "yarn"}),
        ({"tokens": gguf_files.word_keys(300)}, {"problem": "knows 300 tokens, the weights 96"}),
        ({"further": {"w.weight": np.zeros((2, 2), np.float32)}}, {"problem": "'w.weight'"}),
        ({"kind": gguf_files.Kind.Q5_0}, {"got": "Q5_0", "expected": "Q4_K, Q6_K"}),
        ({"further": {"rope_freqs.weight": np.ones(3, np.float32)}}, {"problem": "rope_freqs"}),
    ],
    ids=lambda value: "-".join(value),
)
def test_keys_and_tensors_that_do_not_fit(
    changes: dict[str, Any], fields: dict[str, Any], tmp_path: Path
) -> None:
    path = written(tmp_path, **changes)
    with refused(CheckpointError, **fields):
        load_gguf(path)
    assert examine(path).why_not


def test_nan_in_a_block(tmp_path: Path) -> None:
    twin = gguf_files.twin()
    twin.model.norm.weight.data[3] = float("nan")
    path = gguf_files.write(tmp_path / "a.gguf", twin)
    with refused(CheckpointError, problem="'output_norm.weight' holds NaN"):
        load_gguf(path)


def test_cuts_and_changed_bytes(tmp_path: Path) -> None:
    """Cut anywhere, or changed in its header: an error with a name, or a model."""
    path, chance = written(tmp_path, kind=gguf_files.Kind.Q8_0), random.Random(3)
    whole = path.read_bytes()
    for cut in [len(whole) - 1, *(chance.randrange(4, len(whole)) for _ in range(40))]:
        path.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError):
            check_gguf(path)
    ended = []
    for _ in range(150):
        changed = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(5000)] = chance.randrange(256)
        path.write_bytes(changed)
        try:
            bundle = open_bundle(path)
            _ = bundle.spec, bundle.tokenizer, bundle.settings
            ended.append("")
        except RegardError as error:
            ended.append(str(error))
        list(lines(examine(path)))
    assert "" in ended and len(set(ended)) > 10
