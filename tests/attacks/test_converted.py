"""Lines 2 to 6 for folders that say they were converted: a stranger can write that too."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from attacks.craft import Attack, good, refused
from regard.checkpoint.converted import INFO, SPEC, WEIGHTS, save_converted
from regard.checkpoint.published import load_published
from regard.checksums import NAME as CHECKSUMS
from regard.checksums import write_checksums

BIAS = "encoder.layers.0.attention.query.bias"


def converted(folder: Path) -> Path:
    """A converted folder that loads; without checksums.json, which a stranger would leave out."""
    good(folder)
    save_converted(load_published(folder), "bert", folder, "test")
    (folder / "model.safetensors").unlink()
    (folder / CHECKSUMS).unlink()
    return folder


def said(folder: Path, name: str, **keys: Any) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def text(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)


def signed(folder: Path, **tensors: torch.Tensor) -> None:
    """Other weights with a checksum that fits: it guards against accidents, not against people."""
    path = folder / WEIGHTS
    save_file(load_file(path) | tensors, path)
    said(folder, INFO, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def linked(folder: Path, name: str) -> None:
    shutil.move(folder / name, folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)


def outside(folder: Path, name: str) -> None:
    write_checksums(folder, {name: "0" * 64})


def flipped(folder: Path) -> None:
    path = folder / WEIGHTS
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


ATTACKS: dict[str, tuple[Attack, str]] = {
    "one bit of the weights": (flipped, "differs from its checksum"),
    "no checksum": (lambda f: said(f, INFO, sha256=None), "differs from its checksum"),
    "a checksum that is a list": (lambda f: said(f, INFO, sha256=[]), "differs from its checksum"),
    "checksums of others": (lambda f: outside(f, "../x"), "not a file of this folder"),
    "a checksum without end": (lambda f: outside(f, "/dev/zero"), "not a file of this folder"),
    "checksums 100,000 deep": (lambda f: text(f, CHECKSUMS, "[" * 100_000), "nested too deep"),
    "checksums of 5 megabytes": (lambda f: text(f, CHECKSUMS, " " * 5 * 2**20), "at most"),
    "another format": (lambda f: said(f, INFO, format="x" * 10**4), "this regard reads 1"),
    "weights that are missing": (lambda f: (f / WEIGHTS).unlink(), "no such file"),
    "weights that are a link": (lambda f: linked(f, WEIGHTS), "leads out of the folder"),
    "a spec that is a link": (lambda f: linked(f, SPEC), "leads out of the folder"),
    "infos that are a link": (lambda f: linked(f, INFO), "leads out of the folder"),
    "infos 100,000 deep": (lambda f: text(f, INFO, "[" * 100_000), "at most|nested too deep"),
    "a spec 10,000 deep": (lambda f: text(f, SPEC, "[" * 10_000), "nested too deep"),
    "a spec of a megabyte": (lambda f: said(f, SPEC, a="x" * 2**20), "at most 65536"),
    "a key twice": (
        lambda f: text(f, SPEC, '{"heads": 1, ' + (f / SPEC).read_text()[1:]),
        "twice",
    ),
    "a key that nobody knows": (lambda f: said(f, SPEC, code="os.system"), "unknown key 'code'"),
    "a million layers": (lambda f: said(f, SPEC, encoder_layers=10**6), "encoder_layers: got"),
    "512 layers": (lambda f: said(f, SPEC, encoder_layers=512), "asks for .* weights"),
    "the widest model": (
        lambda f: said(f, SPEC, d_model=65_536, heads=64, vocabulary=2_000_000),
        "asks for .* weights",
    ),
    "a layer too many": (lambda f: said(f, SPEC, encoder_layers=3), "missing"),
    "a row too many": (lambda f: said(f, SPEC, vocabulary=32), "has shape"),
    "an activation that is a path": (lambda f: said(f, SPEC, activation="os.system"), "activation"),
    "NaN": (lambda f: signed(f, **{BIAS: torch.full((12,), float("nan"))}), "NaN"),
    "infinity": (lambda f: signed(f, **{BIAS: torch.full((12,), float("inf"))}), "infinity"),
    "another shape": (lambda f: signed(f, **{BIAS: torch.zeros(13)}), "has shape"),
    "a tensor too many": (lambda f: signed(f, x=torch.zeros(1)), "unknown"),
}


def test_the_converted_folder_loads(tmp_path: Path) -> None:
    assert load_published(converted(tmp_path / "m")).spec.vocabulary == 31


@pytest.mark.parametrize("name", ATTACKS)
def test_refused(name: str, tmp_path: Path) -> None:
    attack, message = ATTACKS[name]
    attack(converted(tmp_path / "m"))
    refused(tmp_path / "m", message)
