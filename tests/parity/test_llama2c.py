"""The llama2.c format against its formulas, written here once more as a plain loop over positions.

The loop reads the file by itself, knows no batch, no cache of ours and no half-split rotation. With
REGARD_DATA, a folder that has weights/stories260K in it, it also tells a story with real weights.
"""

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray

import folders
import parity.decoders as decoders
import regard
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.llama2c import load_llama2c, tokenizer_beside
from regard.checkpoint.published import load_published, save_published
from regard.convert.convert import convert
from regard.errors import CheckpointError, DataError

STORIES = Path(os.environ.get("REGARD_DATA", ""), "weights/stories260K")
BOS = 1
Array = NDArray[np.float32]

# d, hidden, layers, heads, K/V heads, vocabulary (negative: own output matrix), length
HEADERS = {
    "grouped": (36, 41, 3, 6, 2, 97, 23),
    "own output": (28, 37, 2, 7, 7, -101, 19),
    "one group": (40, 31, 2, 4, 1, 89, 29),
}
NAMES = ("norm_1", "wq", "wk", "wv", "wo", "norm_2", "w1", "w2", "w3")


class Reference:
    """One position at a time, as llama2.c's run.c computes it."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        d, f, n, self.heads, self.groups, v, length = struct.unpack("<7i", data[:28])
        numbers = np.frombuffer(data[28:], "<f4")
        self.k = k = d // self.heads
        kv = self.groups * k
        self.at = 0

        def take(*shape: int) -> Array:
            self.at += int(np.prod(shape))
            return numbers[self.at - int(np.prod(shape)) : self.at].reshape(shape)

        self.embedding = take(abs(v), d)
        shapes = ((d,), (d, d), (kv, d), (kv, d), (d, d), (d,), (f, d), (d, f), (f, d))
        blocks = {name: take(n, *shape) for name, shape in zip(NAMES, shapes, strict=True)}
        self.layers = [{name: block[i] for name, block in blocks.items()} for i in range(n)]
        self.norm = take(d)
        take(2 * length * k // 2)  # tables that run.c skips too
        self.output = self.embedding if v > 0 else take(abs(v), d)
        assert self.at == len(numbers)
        self.past: list[tuple[list[Array], list[Array]]] = [([], []) for _ in range(n)]

    def step(self, token: int, position: int) -> Array:
        """The logits after one token more."""
        x = self.embedding[token]
        for w, (keys, values) in zip(self.layers, self.past, strict=True):
            y = rms_norm(x, w["norm_1"])
            q = self.turned(w["wq"] @ y, position)
            keys.append(self.turned(w["wk"] @ y, position))
            values.append((w["wv"] @ y).reshape(-1, self.k))
            seen = []
            for head in range(self.heads):
                group = head // (self.heads // self.groups)
                scores = np.array([q[head] @ key[group] for key in keys]) / np.sqrt(self.k)
                weights = np.exp(scores - scores.max())
                weights /= weights.sum()
                seen.append(sum(a * v[group] for a, v in zip(weights, values, strict=True)))
            x = x + w["wo"] @ np.concatenate(seen)
            y = rms_norm(x, w["norm_2"])
            gate = w["w1"] @ y
            x = x + w["w2"] @ (gate / (1 + np.exp(-gate)) * (w["w3"] @ y))
        logits: Array = self.output @ rms_norm(x, self.norm)
        return logits

    def turned(self, x: Array, position: int) -> Array:
        """Neighbours (x_2i, x_2i+1) of each head, turned by position / 10000^(2i/K)."""
        x = x.reshape(-1, self.k)
        angle = position / 10_000 ** (np.arange(0, self.k, 2) / self.k)
        turned = np.empty_like(x)
        turned[:, 0::2] = x[:, 0::2] * np.cos(angle) - x[:, 1::2] * np.sin(angle)
        turned[:, 1::2] = x[:, 0::2] * np.sin(angle) + x[:, 1::2] * np.cos(angle)
        return turned


def rms_norm(x: Array, weight: Array) -> Array:
    result: Array = weight * x / np.sqrt(np.mean(x * x) + 1e-5)
    return result


def write(path: Path, header: tuple[int, ...]) -> Path:
    """A file of random numbers with norms that are not all one."""
    d, f, n, heads, groups, v, length = header
    kv = groups * d // heads
    draw = np.random.default_rng(3)
    sizes = [(abs(v) * d, d), (n * d, 0), (n * d * d, d), (n * kv * d, d), (n * kv * d, d)]
    sizes += [(n * d * d, d), (n * d, 0), (n * f * d, d), (n * d * f, f), (n * f * d, d), (d, 0)]
    sizes += [(length * d // heads, 1)] + [(-v * d, d)] * (v < 0)
    with path.open("wb") as file:
        file.write(struct.pack("<7i", *header))
        for size, width in sizes:
            numbers = draw.normal(0.5 if not width else 0, (width or 10) ** -0.5, size)
            file.write(numbers.astype("<f4").tobytes())
    return path


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_logits_equal_the_formulas(header: tuple[int, ...], tmp_path: Path) -> None:
    path = write(tmp_path / "model.bin", header)
    ours, reference = load_llama2c(path), Reference(path)
    ids = torch.randint(0, abs(header[5]), (1, 17), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = ours.token_logits(ours.decode(ids))[0]
    for position, token in enumerate(ids[0].tolist()):
        expected = reference.step(token, position)
        assert np.abs(logits[position].numpy() - expected).max() < 1e-5


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_it_goes_on_as_a_published_folder(header: tuple[int, ...], tmp_path: Path) -> None:
    ours = load_llama2c(write(tmp_path / "model.bin", header))
    save_published(ours, LLAMA, tmp_path / "b")
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "b")
    decoders.check_logits_and_layers(theirs, ours, abs(header[5]))
    decoders.check_same_weights(ours, load_published(tmp_path / "b"))


def story_pieces() -> list[bytes]:
    """tok512.bin: the longest piece's length, then score, length and text of each piece."""
    data, at, pieces = (STORIES / "tok512.bin").read_bytes(), 4, []
    while at < len(data):
        length = struct.unpack_from("<i", data, at + 4)[0]
        piece = data[at + 8 : at + 8 + length]
        raw = re.fullmatch(rb"<0x([0-9A-F]{2})>", piece)  # a byte that no piece has
        pieces.append(bytes([int(raw[1], 16)]) if raw else piece)
        at += 8 + length
    return pieces


@pytest.mark.skipif(
    not STORIES.is_dir(),
    reason="no real weights: set REGARD_DATA to a folder that has weights/stories260K",
)
def test_a_story_with_real_weights(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = STORIES / "stories260K.bin"
    ours, reference, pieces = load_llama2c(path), Reference(path), story_pieces()
    beside = tokenizer_beside(path, ours.spec)
    assert beside == STORIES / "tok512.model" and len(pieces) == ours.spec.vocabulary
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(beside))
    convert(path, tmp_path / "hf", "hf")
    published = regard.load(tmp_path / "hf", device="cpu")
    for prompt in ("", "Once upon a time", "Lily and Tom found a small"):
        ids = [BOS, *tokenizer.encode(prompt)]
        expected, steps = list(ids), 160
        for position in range(len(ids) + steps - 1):
            logits = reference.step(expected[position], position)
            if position + 1 >= len(expected):
                expected.append(int(logits.argmax()))
        reference = Reference(path)  # forget this story
        start = torch.tensor([ids])
        told = decoders.greedy(ours, start, torch.ones_like(start, dtype=torch.bool), steps)
        assert told[0].tolist() == expected
        text = b"".join(pieces[i] for i in expected if i != BOS).decode().removeprefix(" ")
        assert tokenizer.decode([i for i in told[0].tolist() if i != BOS]) == text
        assert published.complete(prompt, max_tokens=steps) == text.removeprefix(prompt)
        assert text.startswith(prompt) and len(text.split()) > 50 and "Lily" in text


def test_its_own_tokenizer_file_is_refused_by_name(tmp_path: Path) -> None:
    """tokenizer.bin has pieces and scores, and says less than the model that it was made from."""
    path, vocabulary = tmp_path / "m.bin", HEADERS["grouped"][5]
    write(path, HEADERS["grouped"])
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(bytes([65 + n % 26]) for n in range(94))]
    assert len(pieces) == vocabulary
    rows = (struct.pack("<fi", -float(i), len(p)) + p for i, p in enumerate(pieces))
    (tmp_path / "tokenizer.bin").write_bytes(struct.pack("<i", 6) + b"".join(rows))
    with pytest.raises(DataError, match=r"tokenizer\.bin of llama2\.c, expected .*SentencePiece"):
        convert(path, tmp_path / "out", "hf", tokenizer=tmp_path / "tokenizer.bin")
    (tmp_path / "other.bin").write_bytes(b"something else")
    with pytest.raises(DataError, match="SentencePiece"):
        convert(path, tmp_path / "out", "hf", tokenizer=tmp_path / "other.bin")
    assert not (tmp_path / "out").exists()
    good, larger = (folders.pieces(size, unk_id=0, bos_id=1, eos_id=2) for size in (90, 110))
    (tmp_path / "larger.model").write_bytes(larger)
    with pytest.raises(DataError, match=r"larger\.model: knows 110 tokens, the weights 97"):
        convert(path, tmp_path / "out", "hf", tokenizer=tmp_path / "larger.model")
    (tmp_path / "good.model").write_bytes(good)
    convert(path, tmp_path / "out", "hf", tokenizer=tmp_path / "good.model")
    assert regard.load(tmp_path / "out").complete("the", max_tokens=3)


def changed(path: Path, at: int, number: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, at, number)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "field, number, named",
    [
        (0, 0x616B3432, "version 1 or later"),
        (0, 0, "d_model"),
        (0, -36, "d_model"),
        (0, 35, "d_model"),  # not a multiple of the heads
        (0, 2**31 - 1, "d_model"),
        (1, 42, "its header asks for"),
        (2, 2**31 - 1, "layers"),
        (2, 0, "no model"),
        (3, 0, "heads"),
        (4, 4, "kv_heads"),
        (4, -2, "kv_heads"),
        (5, 0, "vocabulary"),
        (5, -(2**31), "vocabulary"),
        (6, 2**31 - 1, "max_length"),
    ],
)
def test_a_header_that_lies_is_refused(field: int, number: int, named: str, tmp_path: Path) -> None:
    path = write(tmp_path / "model.bin", HEADERS["grouped"])
    changed(path, 4 * field, number)
    with pytest.raises(CheckpointError, match=named):
        load_llama2c(path)


def test_a_file_that_is_cut_or_longer_or_not_finite_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "model.bin", HEADERS["grouped"])
    whole = path.read_bytes()
    for data in (whole[:-4], whole + b"\0\0\0\0"):
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match="its header asks for"):
            load_llama2c(path)
    path.write_bytes(whole[:27])
    with pytest.raises(CheckpointError, match="27 bytes"):
        load_llama2c(path)
    path.write_bytes(whole)
    changed(path, 28 + 4 * 5, 0x7FC00000)
    with pytest.raises(CheckpointError, match="NaN"):
        load_llama2c(path)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_llama2c(tmp_path / "nowhere.bin")
