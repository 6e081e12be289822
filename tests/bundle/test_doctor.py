"""The doctor against files that other libraries wrote, and against files that lie."""

import json
import math
import os
import pickle
import random
import struct
import time
import tracemalloc
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import small_models
from refusals import refused
from regard.bundle.doctor import examine, lines
from regard.bundle.tasks import TASKS
from regard.checkpoint.headers.look import look
from regard.checkpoint.published import load_published
from regard.convert.convert import convert
from regard.errors import CheckpointError, MisuseError


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gguf(tensors: int = 1, shape: tuple[int, ...] = (8, 4)) -> bytes:
    """By the published layout: magic, version, counts, pairs (text is kind 8), tensors."""
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, 2)
    pairs = text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
    pairs += text(b"some.list") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"b")
    name = text(b"blk.0.attn_q.weight") + struct.pack("<I", len(shape))
    told = head + pairs + name + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 1, 0)
    return told + bytes(-len(told) % 32) + bytes(2 * math.prod(shape))


def write_all(folder: Path) -> dict[str, Path]:
    """One file of each kind."""
    weights = OrderedDict(w=torch.randn(3, 5).half(), v=torch.nn.Parameter(torch.randn(7)))
    save_file({"w": torch.zeros(3, 5)}, folder / "a.safetensors", {"format": "pt"})
    torch.save(weights, folder / "a.bin")
    torch.save(weights, folder / "old.bin", _use_new_zipfile_serialization=False)
    np.savez(folder / "a.npz", w=np.zeros((3, 5), np.float32))
    np.save(folder / "a.npy", np.zeros((3, 5), np.float64))
    (folder / "a.gguf").write_bytes(gguf())
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("name", "kind", "tensors"),
    [
        ("a.safetensors", "safetensors", [("w", "F32", (3, 5))]),
        ("a.bin", "torch.save archive", [("w", "F16", (3, 5)), ("v", "F32", (7,))]),
        ("old.bin", "torch.save file of before 1.6", [("w", "F16", (3, 5)), ("v", "F32", (7,))]),
        ("a.npz", "npz (NumPy arrays)", [("w", "<f4", (3, 5))]),
        ("a.npy", "npy (NumPy array)", [("a", "<f8", (3, 5))]),
        ("a.gguf", "gguf (llama.cpp)", [("blk.0.attn_q.weight", "F16", (4, 8))]),
    ],
)
def test_each_kind_is_read(name: str, kind: str, tensors: list[object], tmp_path: Path) -> None:
    contents = look(write_all(tmp_path)[name])
    assert contents.kind == kind
    assert [(held.name, held.dtype, held.shape) for held in contents.tensors] == tensors
    assert not [finding for finding in contents.findings if finding.level == "broken"]


def test_who_wrote_it(tmp_path: Path) -> None:
    files = write_all(tmp_path)
    assert look(files["a.safetensors"]).writer == {"format": "pt"}
    assert look(files["a.gguf"]).writer["general.architecture"] == "llama"


def test_every_cut_and_many_changed_bytes_give_findings_or_nothing(tmp_path: Path) -> None:
    drawn = random.Random(0)
    for name, path in write_all(tmp_path).items():
        whole = path.read_bytes()
        for cut in sorted({0, 1, 7, 8, 9, 27, *(drawn.randrange(len(whole)) for _ in range(25))}):
            path.write_bytes(whole[:cut])
            contents = look(path)
            assert any(f.level in ("broken", "unsafe") for f in contents.findings), (name, cut)
            list(lines(examine(path)))
        for _ in range(60):
            changed = bytearray(whole)
            for _ in range(drawn.randrange(1, 6)):
                changed[drawn.randrange(len(whole))] = drawn.randrange(256)
            path.write_bytes(bytes(changed))
            list(lines(examine(path)))


class Evil:
    """Unpickling this would write a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("kind", ["torch", "old torch", "pickle", "protocol 0", "npz"])
def test_a_pickle_is_named_and_never_run(kind: str, tmp_path: Path) -> None:
    marker, path = tmp_path / "it-ran", tmp_path / "evil.pt"
    bad = {"w": Evil(marker)}
    if kind == "npz":
        path = tmp_path / "evil.npz"
        np.savez(path, w=np.array([Evil(marker)], dtype=object))
    elif kind.endswith("torch"):
        torch.save(bad, path, _use_new_zipfile_serialization=kind == "torch")
    else:
        path.write_bytes(pickle.dumps(bad, protocol=0 if kind == "protocol 0" else 5))
    contents = look(path)
    told = " ".join(finding.text for finding in contents.findings if finding.level == "unsafe")
    assert ("Python objects" if kind == "npz" else f"{os.name}.system") in told
    assert not marker.exists()


def header(entries: dict[str, object], data: bytes = b"") -> bytes:
    packed = json.dumps(entries).encode()
    return struct.pack("<Q", len(packed)) + packed + data


W = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LIES = {
    "header.safetensors": struct.pack("<Q", 2**63) + b"{}",
    "deep.safetensors": struct.pack("<Q", 100_000) + b"[" * 100_000,
    "trailing.safetensors": header({"w": W}, b"\0" * 9),
    "overlap.safetensors": header({"w": W, "v": W}, b"\0" * 8),
    "shape.safetensors": header({"w": W | {"shape": [2**62, 4]}}, b"\0" * 8),
    "negative.safetensors": header({"w": W | {"shape": [-2]}}, b"\0" * 8),
    "list.safetensors": struct.pack("<Q", 2) + b"[]",
    "text.gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60),
    "count.gguf": b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0),
    "list.gguf": b"GGUF"
    + struct.pack("<IQQ", 3, 0, 1)
    + text(b"k")
    + struct.pack("<IIQ", 9, 8, 2**60),
    "rank.gguf": gguf(shape=(1,) * 9),
    "steps.pt": b"\x80\x02" + b"]" * 300_000 + b".",
    "nested.pt": b"\x80\x02)" + b"\x85" * 140_000 + b".",
    "twice.pt": b"\x80\x02)" + b"2\x86" * 70_000 + b".",
    "long.pkl": b"\x80\x02\x8b" + struct.pack("<i", 2**30) + b"x",
    "memo.pt": b"\x80\x02h\x05.",
    "huge.npy": b"\x93NUMPY\2\0" + struct.pack("<I", 2**31),
    "code.npy": b"\x93NUMPY\1\0" + struct.pack("<H", 20) + b"__import__('os')    \n",
    "empty.bin": b"",
    "page.bin": b"<!DOCTYPE html><title>Not found</title>" * 3,
    "pointer.safetensors.bin": b"version https://git-lfs.github.com/spec/v1\n",
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_a_finding_in_little_time_and_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(LIES[name])
    tracemalloc.start()
    start = time.process_time()
    report = examine(path)
    taken, memory = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    list(lines(report))
    assert report.findings and not report.runs
    assert memory < 200e6
    assert taken < 20  # tracing slows it down about ten times


def test_a_zip_that_unpacks_to_much_more_is_unsafe(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}.")
        archive.writestr("a/data/0", b"\0" * 50_000_000)
    told = [finding.text for finding in look(path).findings if finding.level == "unsafe"]
    assert any("claims to unpack to 50,000,004 bytes" in line for line in told)


def test_a_tensor_larger_than_its_storage_is_unsafe(tmp_path: Path) -> None:
    torch.save({"w": torch.zeros(1).expand(2**33)}, tmp_path / "w.pt")
    told = [finding.text for finding in look(tmp_path / "w.pt").findings]
    assert "tensor 'w': shape (8589934592,) does not fit its storage of 1 numbers" in told


@pytest.mark.parametrize("family", small_models.MODELS)
def test_every_family_runs_and_is_recognised_by_names_alone(family: str, tmp_path: Path) -> None:
    small_models.save(family, tmp_path / "m")
    report = examine(tmp_path / "m")
    assert (report.runs, report.family, report.why_not) == (True, family, "")
    numbers = load_file(tmp_path / "m/model.safetensors")
    assert report.parameters == sum(tensor.numel() for tensor in numbers.values())
    file = examine(tmp_path / "m/model.safetensors")
    assert file.family == small_models.ALIKE.get(family, family)
    assert file.how == f"regard doctor {tmp_path / 'm'}"


def test_the_command_for_text_needs_tokenizer_files(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"old XLM-RoBERTa")  # regard reads no such
    assert any("tokenizer files" in finding.text for finding in examine(tmp_path).findings)
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    assert examine(tmp_path).how == TASKS["fill"].command.format(tmp_path)


@pytest.mark.parametrize("how", ["missing", "cut off", "of another model"])
def test_a_converted_folder_whose_weights_are_not_whole(how: str, tmp_path: Path) -> None:
    small_models.save("bert", tmp_path / "a")
    convert(tmp_path / "a", tmp_path / "b", "native")
    assert examine(tmp_path / "b").runs
    weights = tmp_path / "b/weights.safetensors"
    data = weights.read_bytes()
    weights.unlink()
    if how == "cut off":
        weights.write_bytes(data[:-100])
    elif how == "of another model":
        save_file({"w": torch.zeros(100_000)}, weights)
    report = examine(tmp_path / "b")
    assert not report.runs and not report.how and "convert or copy it again" in report.why_not
    told = [finding.text for finding in report.findings if finding.level == "broken"]
    assert any("weights.safetensors" in line for line in told)
    with pytest.raises(CheckpointError):
        load_published(tmp_path / "b")


def test_pickled_weights_beside_another_safetensors_file(tmp_path: Path) -> None:
    theirs = small_models.save("gpt2", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    save_file({"lora": torch.zeros(3)}, tmp_path / "adapter_model.safetensors")
    report = examine(tmp_path)
    assert not report.runs and "pickled" in report.why_not and "--allow-pickle" in report.how


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_trunk_cannot_go_on_with_a_text(family: str, tmp_path: Path) -> None:
    whole = small_models.MODELS[family]()
    whole.config.tie_word_embeddings = False  # a tied head needs no tensor of its own
    (whole.transformer if family == "gpt2" else whole.model).save_pretrained(tmp_path)
    (tmp_path / "merges.txt").touch()
    (tmp_path / "tokenizer.model").touch()
    report = examine(tmp_path)
    assert report.runs and load_published(tmp_path).spec.head == "none"
    assert "regard complete" not in report.how and ".spec" in report.how


def test_a_folder_that_brings_code_or_leads_out(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    small_models.save("bert", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "x.Y"}}))
    (folder / "modeling_x.py").write_text("print('no')")
    (tmp_path / "secret.bin").write_bytes(b"secret")
    (folder / "pytorch_model.bin").symlink_to(tmp_path / "secret.bin")
    report = examine(folder)
    told = " ".join(finding.text for finding in report.findings if finding.level == "unsafe")
    assert "auto_map" in told and "modeling_x.py" in told and "out of the folder" in told
    assert not report.runs


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    small_models.save("bert", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert "no model.safetensors" in examine(tmp_path).why_not
    (tmp_path / "config.json").unlink()
    assert any("config.json" in finding.text for finding in examine(tmp_path).findings)
    with refused(MisuseError, problem="no such file or folder"):
        examine(tmp_path / "none")


def test_a_run_and_control_characters(toy_run: Path, tmp_path: Path) -> None:
    assert examine(toy_run).how.startswith("regard translate")
    save_file({"\x1b[2Jw": torch.zeros(1)}, tmp_path / "a.safetensors")
    assert "\x1b" not in "".join(lines(examine(tmp_path / "a.safetensors")))


def names_of_fairseq(layers: int = 2) -> dict[str, torch.Tensor]:
    """As its transformer names its tensors: layers like Marian's, versions and empty positions."""
    names = [f"{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
    names += [f"{side}.version" for side in ("encoder", "decoder")]
    names += [f"{side}.embed_positions._float_tensor" for side in ("encoder", "decoder")]
    for side in ("encoder", "decoder"):
        for n in range(layers):
            for part in ("self_attn.q_proj", "self_attn.k_proj", "fc1", "final_layer_norm"):
                names.append(f"{side}.layers.{n}.{part}.weight")
    return {name: torch.zeros(3) for name in names}


def test_a_checkpoint_of_fairseq_is_no_marian(tmp_path: Path) -> None:
    torch.save({"model": names_of_fairseq(), "extra_state": {"epoch": 3}}, tmp_path / "nmt.pt")
    assert examine(tmp_path / "nmt.pt").family == "a Transformer of fairseq"
    save_file(names_of_fairseq(), tmp_path / "nmt.safetensors")
    assert examine(tmp_path / "nmt.safetensors").family == "a Transformer of fairseq"


def test_a_bart_is_no_marian(tmp_path: Path) -> None:
    shape = dict(d_model=12, encoder_layers=1, decoder_layers=1, vocab_size=31)
    heads = dict(encoder_attention_heads=3, decoder_attention_heads=3)
    config = transformers.BartConfig(**shape, **heads, encoder_ffn_dim=7, decoder_ffn_dim=7)
    transformers.BartForConditionalGeneration(config).save_pretrained(tmp_path)
    assert examine(tmp_path / "model.safetensors").family == "bart"
