"""The llama2.c format, version 0: a header of seven numbers, then every weight, one after another.

    int32 × 7    d_model, ffn_size, layers, heads, kv_heads, vocabulary, max_length
                 (a negative vocabulary: the output matrix is one of its own, at the end)
    float32      embedding · norms, W_Q, W_K, W_V, W_O of all layers · norms, W_1, W_2, W_3 of all
                 layers · last norm · two tables of rotations, which are computed instead

Its rotary positions turn neighbours (x_2i, x_2i+1), ours the two halves (x_i, x_{i+K/2}) of a head.
Scores are sums over a head, so it is enough to sort the rows of W_Q and W_K: first all even ones of
a head, then all odd ones.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import CheckpointError, ConfigError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

HEADER = struct.Struct("<7i")
VERSIONED = 0x616B3432  # the number with which versions 1 and later begin


def read_spec(path: Path) -> Spec:
    """The shape of the model, from the header; the rest of the file must be as long as it says."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(HEADER.size)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    if len(header) < HEADER.size:
        raise CheckpointError(f"{path}: {size} bytes, a llama2.c file begins with {HEADER.size}")
    d_model, ffn_size, layers, heads, kv_heads, vocabulary, length = HEADER.unpack(header)
    if d_model == VERSIONED:
        raise CheckpointError(
            f"{path}: llama2.c format of version 1 or later, regard reads version 0; "
            "export the model again with --version 0"
        )
    try:
        spec = Spec(
            vocabulary=abs(vocabulary),
            d_model=d_model,
            encoder_layers=0,
            decoder_layers=layers,
            heads=heads,
            kv_heads=kv_heads,
            attention_bias=False,
            ffn_size=ffn_size,
            activation="silu",
            gated=True,
            ffn_bias=False,
            norm="rms",
            norm_order="pre",
            norm_epsilon=1e-5,
            embedding_scale=False,
            positions="rotary",
            max_length=length,
            tie="all" if vocabulary > 0 else "none",
            dropout=0.0,
        )
    except ConfigError as error:
        raise CheckpointError(f"{path}: not a llama2.c file: {error}") from None
    expected = HEADER.size + 4 * sum(math.prod(shape) for _, shape, _ in _layout(spec))
    if size != expected:
        raise CheckpointError(
            f"{path}: {size} bytes, its header asks for {expected}; copy the file again"
        )
    return spec


def load_llama2c(path: Path) -> Transformer:
    """The model of a llama2.c file."""
    spec = read_spec(path)
    numbers = np.memmap(path, dtype="<f4", mode="r", offset=HEADER.size)
    weights: dict[str, Tensor] = {}
    start = 0
    for names, shape, turned in _layout(spec):
        end = start + math.prod(shape)
        if names:
            whole = torch.from_numpy(np.array(numbers[start:end])).view(len(names), *shape[1:])
            for name, part in zip(names, whole, strict=True):
                weights[name] = _halves(part, spec.k) if turned else part
        start = end
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise CheckpointError(f"{path}: {name} holds NaN or infinity; choose another file")
    model = Transformer(spec, seed=None)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name].view_as(parameter))
    return model.eval()


def tokenizer_beside(path: Path, spec: Spec) -> Path | None:
    """The SentencePiece model that lies beside the weights: tok512.model for 512 pieces."""
    for name in (f"tok{spec.vocabulary}.model", "tokenizer.model"):
        if (path.parent / name).is_file():
            return path.parent / name
    return None


def _layout(spec: Spec) -> Iterator[tuple[tuple[str, ...], tuple[int, ...], bool]]:
    """Every run of numbers in the file's order: our names (none: skipped), shape, turned."""
    d, f = spec.d_model, spec.ffn_size
    inner, outer = spec.heads * spec.k, spec.groups * spec.k
    vocabulary = (1, spec.vocabulary, d)
    yield ("target_embedding.weight",), vocabulary, False
    for name, shape, turned in (
        ("attention_norm.norm", (d,), False),
        ("attention.query", (inner, d), True),
        ("attention.key", (outer, d), True),
        ("attention.value", (outer, d), False),
        ("attention.output", (d, inner), False),
        ("feed_forward_norm.norm", (d,), False),
        ("feed_forward.inner", (f, d), False),
        ("feed_forward.outer", (d, f), False),
        ("feed_forward.gate", (f, d), False),
    ):
        n = spec.decoder_layers
        names = tuple(f"decoder.layers.{i}.{name}.weight" for i in range(n))
        yield names, (n, *shape), turned
    yield ("decoder.norm.weight",), (1, d), False
    # cosines and sines, one of each for a pair
    yield (), (2, spec.max_length, spec.k // 2), False
    if spec.tie == "none":
        yield ("output.weight",), vocabulary, False


def _halves(weight: Tensor, k: int) -> Tensor:
    """Rows of each head of size K from neighbours to halves: 0, 2, 4, …, 1, 3, 5, …"""
    rows, columns = weight.shape
    return weight.view(-1, k // 2, 2, columns).transpose(1, 2).reshape(rows, columns)
