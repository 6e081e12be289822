"""Line 1: pickled weights that carry code, bombs or contradictions; and those that are plain."""

import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from attacks.craft import (
    BIAS,
    WORDS,
    Attack,
    Runs,
    canary,
    good,
    pickled,
    refused,
    repacked,
    tensors,
    with_pickle,
)
from regard.checkpoint.pickled import read_header
from regard.checkpoint.published import load_published


class Calls:
    """An object whose pickle calls `what` when it is loaded."""

    def __init__(self, what: Any, *arguments: Any) -> None:
        self.call = (what, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


def runs(folder: Path) -> None:
    pickled(folder, tensors(folder) | {"x": Runs(folder)})


def plain_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(folder)))


def legacy(folder: Path) -> None:
    content = tensors(folder)
    torch.save(content, pickled(folder), _use_new_zipfile_serialization=False)


def tar(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with tarfile.open(folder / "pytorch_model.bin", "w") as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())


def torchscript(folder: Path) -> None:
    path = pickled(folder)
    with zipfile.ZipFile(path, "a") as files:
        files.writestr("pytorch_model/code/__torch__.py", "import os")
        files.writestr("pytorch_model/constants.pkl", b"\x80\x02).")


def outside(folder: Path) -> None:
    with zipfile.ZipFile(pickled(folder), "a") as files:
        files.writestr("../../canary", "written")


def twice(folder: Path) -> None:
    path = pickled(folder)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as files:
        files.writestr("pytorch_model/data.pkl", pickle.dumps(Runs(folder), 2))


def deflated(folder: Path) -> None:
    bomb = {"a": torch.zeros(2**22)}
    repacked(pickled(folder, bomb), compression=zipfile.ZIP_DEFLATED)


def lying_sizes(folder: Path) -> None:
    """The directory calls a member stored and large; the file is not."""
    path = pickled(folder)
    raw = bytearray(path.read_bytes())
    place = raw.index(b"PK\x01\x02")
    struct.pack_into("<LL", raw, place + 20, 2**31, 2**31)
    path.write_bytes(raw)


def overlapping(folder: Path) -> None:
    """Two members whose directory entries point at the same bytes."""
    path = pickled(folder)
    raw = bytearray(path.read_bytes())
    first = raw.index(b"PK\x01\x02")
    names = zipfile.ZipFile(path).infolist()
    spot = first
    for info in names[:-1]:
        if info.filename.endswith("data/1"):
            break
        spot = raw.index(b"PK\x01\x02", spot + 4)
    target = next(info for info in names if info.filename.endswith("data/0"))
    struct.pack_into("<L", raw, spot + 42, target.header_offset)
    path.write_bytes(raw)


def polyglot(folder: Path) -> None:
    path = pickled(folder)
    path.write_bytes(path.read_bytes() + b"\n#!/bin/sh\n")


def prefixed(folder: Path) -> None:
    path = pickled(folder)
    path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())


def big_endian(folder: Path) -> None:
    repacked(pickled(folder), lambda name, old: b"big" if name.endswith("byteorder") else old)


def expanded(folder: Path) -> None:
    pickled(folder, tensors(folder) | {WORDS: torch.zeros(1).expand(2**16, 2**17)})


def beyond(folder: Path) -> None:
    """The same strides, an offset that leads behind the end of the storage."""
    path = pickled(folder, {BIAS: torch.zeros(24)[12:]})
    repacked(path, lambda name, old: old.replace(b"K\x0cK\x0c", b"K\x0dK\x0c"))


def short_storage(folder: Path) -> None:
    repacked(pickled(folder), lambda name, old: old[:-4] if name.endswith("data/0") else old)


def multiplied(folder: Path) -> None:
    one = torch.zeros(1000)
    pickled(folder, {f"t{i}": one for i in range(5000)})


def large_pickle(folder: Path) -> None:
    with_pickle(folder, b"\x80\x02" + b"]" * (2 * 2**20) + b".")


def many_steps(folder: Path) -> None:
    with_pickle(folder, b"\x80\x02" + b")" * 20_000 + b"}.")


def deep_tuple(folder: Path) -> None:
    # hashing this would overflow the C stack
    with_pickle(folder, b"\x80\x02})" + b"\x85" * 5_000 + b"Ns.")


CODE = {
    "an object that runs a function": (runs, "its pickle asks for|uses the instruction"),
    "a bare pickle": (plain_pickle, "not a zip archive of torch.save"),
    "the format before torch 1.6": (legacy, "not a zip archive of torch.save"),
    "a tar": (tar, "not a zip archive of torch.save"),
    "TorchScript": (torchscript, "is nothing that a file of tensors holds"),
    "os.system": (
        lambda f: with_pickle(f, b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."),
        "asks for 'os.system'",
    ),
    "builtins.eval by the stack": (
        lambda f: with_pickle(f, b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93."),
        "uses the instruction",
    ),
    "an instance of a class": (
        lambda f: with_pickle(f, b"\x80\x02(ios\nsystem\n."),
        "uses the instruction INST",
    ),
    "a whole model": (lambda f: pickled(f, torch.nn.Linear(2, 2)), "asks for|uses"),
    "attributes of the dictionary": (
        lambda f: with_pickle(
            f, b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsNsb."
        ),
        "sets attributes",
    ),
}
BOMBS = {
    "deflated 1000 : 1": (deflated, "is compressed"),
    "a bytearray of 2^40": (
        lambda f: pickled(f, {"a": Calls(bytearray, 2**40)}),
        "asks for '(__builtin__|builtins).bytearray'",
    ),
    "a tensor class called with a size": (
        lambda f: pickled(f, {"a": Calls(torch.Tensor, 2**34)}),
        "asks for 'torch.*Tensor'",
    ),
    "one number expanded to 2^33": (expanded, "does not fit its storage|claims more numbers"),
    "a storage used 5000 times": (multiplied, "more than 4 times over"),
    "an offset behind the storage": (beyond, "claims more numbers"),
    "a storage shorter than said": (short_storage, "the archive holds"),
    "instructions of 2 MB": (large_pickle, "data.pkl is larger than"),
    "20,000 instructions for nothing": (many_steps, "belong to no part|is missing"),
    "a tuple 5,000 deep as a key": (deep_tuple, "is damaged|not as a text"),
    "sizes of 2 GB in the directory": (lying_sizes, "reaches beyond the end"),
    "members that overlap": (overlapping, "contradicts the directory|overlaps"),
    "a member twice": (twice, "twice"),
    "a path that leads out": (outside, "is nothing that a file of tensors holds"),
    "a script behind the archive": (polyglot, "no directory at its end"),
    "a script before the archive": (prefixed, "not a zip archive"),
    "numbers in the other order": (big_endian, "little-endian"),
    "a stack that is empty": (lambda f: with_pickle(f, b"\x80\x02R."), "is damaged"),
    "a pickle that breaks off": (lambda f: with_pickle(f, b"\x80\x02}q\x00("), "is damaged"),
    "a list of tensors": (lambda f: pickled(f, [torch.zeros(2)]), "uses the instruction"),
}
ATTACKS: dict[str, tuple[Attack, str]] = {**CODE, **BOMBS}


@pytest.mark.parametrize("name", ATTACKS)
def test_refused_even_when_pickles_are_allowed(name: str, tmp_path: Path) -> None:
    attack, message = ATTACKS[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message, allow_pickle=True)


def named_pt(folder: Path) -> None:
    runs(folder)
    (folder / "pytorch_model.bin").rename(folder / "model.pt")


def in_shards(folder: Path) -> None:
    runs(folder)
    (folder / "pytorch_model.bin").rename(folder / "one.bin")
    places = {name: "one.bin" for name in (WORDS, BIAS, "x")}
    text = json.dumps({"weight_map": places})
    (folder / "pytorch_model.bin.index.json").write_text(text)


def distributed(folder: Path) -> None:
    """The format whose `.metadata` torch itself unpickles without a question."""
    (folder / "model.safetensors").unlink()
    (folder / ".metadata").write_bytes(pickle.dumps(Runs(folder)))
    (folder / "__0_0.distcp").write_bytes(pickle.dumps(Runs(folder)))


def disguised(folder: Path) -> None:
    """A pickle under the name of the safe format."""
    torch.save({"x": Runs(folder)}, folder / "model.safetensors")


LEAVE = "its weights are pickled .* allow_pickle=True"
WITHOUT_LEAVE = {
    "pytorch_model.bin": (runs, LEAVE),
    "model.pt": (named_pt, LEAVE),
    "shards": (in_shards, LEAVE),
    "a distributed checkpoint": (distributed, "no model.safetensors"),
    "a pickle called safetensors": (disguised, "not a whole safetensors file"),
}


@pytest.mark.parametrize("name", WITHOUT_LEAVE)
def test_without_leave_no_pickle_is_opened(name: str, tmp_path: Path) -> None:
    attack, message = WITHOUT_LEAVE[name]
    attack(good(tmp_path / "m"))
    refused(tmp_path / "m", message)
    if message != LEAVE:  # and leave changes nothing
        refused(tmp_path / "m", message, allow_pickle=True)


def test_the_canary_can_sing(tmp_path: Path) -> None:
    """The attack is a real one: where code may run, it runs."""
    runs(good(tmp_path / "m"))
    torch.load(tmp_path / "m/pytorch_model.bin", weights_only=False)
    assert canary(tmp_path / "m").read_text() == "ran"


def test_safetensors_are_taken_before_pickles(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(folder)))
    load_published(folder, allow_pickle=True)
    assert not canary(folder).exists()


@pytest.mark.parametrize("half", [False, True])
def test_plain_tensors_are_read(half: bool, tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    before = dict(load_published(folder).named_parameters())
    found = {name: tensor.half() if half else tensor for name, tensor in tensors(folder).items()}
    state = torch.nn.Linear(2, 3).state_dict()  # an ordered dictionary with versions beside it
    state.clear()
    state.update({name: torch.nn.Parameter(t) if t.dim() == 1 else t for name, t in found.items()})
    path = pickled(folder, state)
    assert read_header(path)[WORDS].shape == (31, 12)
    for name, parameter in load_published(folder, allow_pickle=True).named_parameters():
        assert torch.allclose(parameter, before[name], atol=1e-3 if half else 0), name


def test_a_transposed_view_is_read_as_it_is(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    found = tensors(folder)
    pickled(folder, found | {WORDS: found[WORDS].T.contiguous().T})
    loaded = dict(load_published(folder, allow_pickle=True).named_parameters())
    assert torch.equal(loaded["source_embedding.weight"], found[WORDS])
