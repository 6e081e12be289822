"""Files of weights that lie: each is refused by name, before anything is allocated."""

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from refusals import refused
from regard.checkpoint.guard import read_header, read_tensors
from regard.errors import CheckpointError

EXPECTED = {"a": torch.zeros(2, 3), "b": torch.zeros(4)}


def raw(path: Path, header: bytes, data: bytes = b"") -> Path:
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def test_a_good_file(tmp_path: Path) -> None:
    save_file(EXPECTED, tmp_path / "x")
    assert set(read_header(tmp_path / "x")) == {"a", "b"}
    assert torch.equal(read_tensors(tmp_path / "x", EXPECTED)["a"], EXPECTED["a"])


def test_names_and_shapes_must_agree(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2, 3), "c": torch.zeros(4)}, tmp_path / "x")
    with pytest.raises(CheckpointError, match=r"1 missing \['b'\], 1 unknown \['c'\]"):
        read_tensors(tmp_path / "x", EXPECTED)
    save_file({"a": torch.zeros(3, 2), "b": torch.zeros(4)}, tmp_path / "x")
    with refused(CheckpointError, problem="a has shape [3, 2], the spec expects [2, 3]"):
        read_tensors(tmp_path / "x", EXPECTED)


def test_another_dtype_is_refused(tmp_path: Path) -> None:
    save_file({name: tensor.half() for name, tensor in EXPECTED.items()}, tmp_path / "x")
    with refused(CheckpointError, problem="float16, the spec expects torch.float32"):
        read_tensors(tmp_path / "x", EXPECTED)


def test_nan_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.full((2, 3), float("nan")), "b": torch.zeros(4)}, tmp_path / "x")
    with refused(CheckpointError, problem="NaN"):
        read_tensors(tmp_path / "x", EXPECTED)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100) + b"{}",
        b"\x80\x04\x95 a pickle, not weights at all .....",
    ],
    ids=["empty", "huge", "overflow", "truncated", "pickle"],
)
def test_what_is_no_safetensors_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with refused(CheckpointError, subject="x"):
        read_tensors(tmp_path / "x", EXPECTED)


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    path = raw(tmp_path / "x", f"{{{entry},{entry}}}".encode(), bytes(4))
    with refused(CheckpointError, problem="twice"):
        read_tensors(path)


def test_deep_json_and_odd_dtypes_are_refused(tmp_path: Path) -> None:
    with refused(CheckpointError, problem="not valid JSON"):
        read_header(raw(tmp_path / "x", b"[" * 100_000))
    odd = json.dumps({"a": {"dtype": "PY", "shape": [], "data_offsets": [0, 0]}}).encode()
    with refused(CheckpointError, problem="unknown dtype"):
        read_header(raw(tmp_path / "x", odd))


def test_a_missing_file(tmp_path: Path) -> None:
    with refused(CheckpointError, problem="cannot be read: No such file"):
        read_header(tmp_path / "nothing")
