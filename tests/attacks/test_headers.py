"""Line 2: safetensors files that lie about themselves, and configs that ask for too much."""

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attacks.craft import (
    BIAS,
    WORDS,
    Attack,
    config,
    edited,
    good,
    parts,
    refused,
    sharded,
    tensors,
    write,
)
from regard.checkpoint.published import load_published


def raw(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)


def swap(folder: Path, old: str, new: str) -> None:
    header, data = parts(folder)
    write(folder, json.dumps(header).replace(old, new).encode(), data)


def twice(folder: Path) -> None:
    header, data = parts(folder)
    entry = json.dumps(header[BIAS])
    write(folder, f'{{"{BIAS}": {entry}, {json.dumps(header)[1:]}'.encode(), data)


def overlapping(folder: Path) -> None:
    header, data = parts(folder)
    first, second = sorted(header.items(), key=lambda pair: pair[1].get("data_offsets", [9e9]))[:2]
    shift = second[1]["data_offsets"][0] - first[1]["data_offsets"][0]
    header[second[0]]["data_offsets"] = [x - shift for x in second[1]["data_offsets"]]
    write(folder, header, data)


def hole(folder: Path) -> None:
    header, data = parts(folder)
    del header[BIAS]
    write(folder, header, data)


def gap(folder: Path) -> None:
    header, data = parts(folder)
    for name, entry in header.items():
        if name != "__metadata__":
            entry["data_offsets"] = [x + 4 for x in entry["data_offsets"]]
    write(folder, header, bytes(4) + data)


def added(folder: Path, name: str, tensor: torch.Tensor) -> None:
    save_file(tensors(folder) | {name: tensor}, folder / "model.safetensors")


def changed(folder: Path, name: str, tensor: torch.Tensor) -> None:
    save_file(tensors(folder) | {name: tensor}, folder / "model.safetensors")


def without(folder: Path, name: str) -> None:
    found = tensors(folder)
    del found[name]
    save_file(found, folder / "model.safetensors")


def both_names(folder: Path) -> None:
    added(folder, f"bert.{BIAS}", torch.zeros(12))


HEADERS: dict[str, tuple[Attack, str]] = {
    "empty file": (lambda f: raw(f, b""), "not a whole safetensors file"),
    "header of 2^64 - 1 bytes": (
        lambda f: raw(f, b"\xff" * 8 + b"{}"),
        "not a whole safetensors file",
    ),
    "header longer than the file": (
        lambda f: raw(f, struct.pack("<Q", 5000) + b"{}"),
        "not a whole safetensors file",
    ),
    "header larger than the cap": (
        lambda f: write(f, b"{" + b" " * (9 * 2**20) + b"}", b""),
        "not a whole safetensors file",
    ),
    "truncated": (
        lambda f: raw(f, (f / "model.safetensors").read_bytes()[:-8]),
        "not within the|takes .* bytes",
    ),
    "bytes behind the last tensor": (
        lambda f: raw(f, (f / "model.safetensors").read_bytes() + b"#!/bin/sh\n"),
        "10 bytes after the last tensor",
    ),
    "a name twice": (twice, "twice"),
    "overlap": (overlapping, "overlaps another tensor|leaves a hole"),
    "hole": (hole, "leaves a hole"),
    "hole before the first": (gap, "leaves a hole"),
    "shape larger than the bytes": (
        lambda f: edited(f, WORDS, shape=[31, 13]),
        r"F32 of shape \[31, 13\] takes 1612 bytes, data_offsets give it 1488",
    ),
    "shape whose size overflows 64 bits": (
        lambda f: edited(f, WORDS, shape=[2**32, 2**32]),
        "does not fit a file of this size",
    ),
    "an axis of 0 beside one of 2^62": (
        lambda f: edited(f, WORDS, shape=[0, 2**62], data_offsets=[0, 0]),
        "does not fit a file of this size",
    ),
    "negative axes": (lambda f: edited(f, WORDS, shape=[-31, -12]), "does not fit"),
    "a thousand axes": (lambda f: edited(f, BIAS, shape=[12] + [1] * 1000), "does not fit"),
    "axes that are true": (lambda f: edited(f, BIAS, shape=[True, 12]), "does not fit"),
    "offsets backwards": (lambda f: edited(f, BIAS, data_offsets=[48, 0]), "are not within"),
    "offsets beyond the file": (
        lambda f: edited(f, BIAS, data_offsets=[2**60, 2**60 + 48]),
        "are not within",
    ),
    "offsets as texts": (lambda f: edited(f, BIAS, data_offsets=["0", "48"]), "are not within"),
    "a dtype that is not on the list": (
        lambda f: edited(f, BIAS, dtype="F8_E4M3"),
        "unknown dtype",
    ),
    "a dtype that is an object": (lambda f: edited(f, BIAS, dtype={}), "unknown dtype"),
    "a key more than there is": (lambda f: edited(f, BIAS, code="import os"), "nothing else"),
    "an entry that is a list": (
        lambda f: write(f, {"a": []}, b""),
        "expected dtype, shape and data_offsets",
    ),
    "metadata that is an object": (
        lambda f: write(f, {"__metadata__": {"format": {"a": 1}}}, b""),
        "__metadata__",
    ),
    "header that is a list": (lambda f: write(f, [], b""), "header is list"),
    "header that is a pickle": (lambda f: raw(f, b"\x80\x04\x95" + bytes(40)), "not a whole"),
    "header nested 100,000 deep": (
        lambda f: write(f, b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b""),
        "nested too deep",
    ),
    "header nested 200 deep": (
        lambda f: write(f, b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", b""),
        "nested too deep",
    ),
    "a number of 100,000 digits": (
        lambda f: swap(f, "[31, 12]", "[" + "9" * 100_000 + ", 12]"),
        "a number of 100000 digits",
    ),
    "NaN in the header": (lambda f: swap(f, "[31, 12]", "[NaN, 12]"), "NaN is no number"),
    "header that is not UTF-8": (lambda f: write(f, b'{"\xff\xfe": 1}', b""), "not valid JSON"),
    "a name of 100,000 letters": (
        lambda f: added(f, "x" * 100_000, torch.zeros(1)),
        "a name of 100000 letters",
    ),
    "a name that moves the cursor": (
        lambda f: added(f, "\x1b[2J\x1b]0;pwned\x07", torch.zeros(1)),
        r"1 of its tensors belong to no part of this model: '\\x1b",
    ),
    "a name that is a path": (lambda f: added(f, "../../x", torch.zeros(1)), "'../../x'"),
    "a tensor too many": (lambda f: added(f, "surplus", torch.zeros(3)), "'surplus'"),
    "a tensor too few": (lambda f: without(f, BIAS), f"'{BIAS}' is missing"),
    "a name with and without prefix": (both_names, "with and without its prefix"),
    "another shape": (lambda f: changed(f, WORDS, torch.zeros(30, 12)), r"\(30, 12\), the config"),
    "whole numbers as weights": (
        lambda f: changed(f, WORDS, torch.zeros(31, 12, dtype=torch.int64)),
        "expected real numbers",
    ),
    "a pipe": (lambda f: _pipe(f / "model.safetensors"), "not an ordinary file"),
    "a folder": (lambda f: _folder(f / "model.safetensors"), "not an ordinary file"),
}
CONFIGS: dict[str, tuple[Attack, str]] = {
    "a vocabulary of 2^40": (
        lambda f: config(f, vocab_size=2**40),
        "vocabulary: got 1099511627776",
    ),
    "a million layers": (
        lambda f: config(f, num_hidden_layers=10**6),
        "encoder_layers: got 1000000",
    ),
    "512 layers that are not there": (lambda f: config(f, num_hidden_layers=512), "is missing"),
    "the widest model": (
        lambda f: config(f, hidden_size=65_536, num_attention_heads=64, vocab_size=2_000_000),
        "the config asks for .* weights, the files hold",
    ),
    "a long table": (
        lambda f: config(f, max_position_embeddings=16_000_000),
        "the config asks for .* weights, the files hold",
    ),
    "no heads": (lambda f: config(f, num_attention_heads=0), "heads: got 0"),
    "negative layers": (lambda f: config(f, num_hidden_layers=-1), "encoder_layers: got -1"),
    "a width that is a text": (lambda f: config(f, hidden_size="12"), "expected a whole number"),
    "an epsilon below zero": (lambda f: config(f, layer_norm_eps=-1.0), "norm_epsilon: got -1"),
    "a row more than the table has": (
        lambda f: config(f, vocab_size=32),
        r"\(31, 12\), the config asks for \(32, 12\)",
    ),
}


def _pipe(path: Path) -> None:
    import os

    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_the_good_folder_loads(tmp_path: Path) -> None:
    assert load_published(good(tmp_path / "m")).spec.vocabulary == 31
    sharded(tmp_path / "m")
    assert load_published(tmp_path / "m").spec.vocabulary == 31


@pytest.mark.parametrize("name", HEADERS)
def test_header(name: str, tmp_path: Path) -> None:
    attack, message = HEADERS[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message)


@pytest.mark.parametrize("name", CONFIGS)
def test_config(name: str, tmp_path: Path) -> None:
    attack, message = CONFIGS[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message)
