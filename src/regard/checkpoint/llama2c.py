"""The model in a llama2.c file (headers/llama2c.py), and the tokenizer beside it.

Its rotary positions turn neighbours, ours the halves of a head: the rows of W_Q and W_K are sorted
(checkpoint/reordered.py).
"""

import math
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.checkpoint.guard import check_finite, load_into
from regard.checkpoint.headers.contents import strictly
from regard.checkpoint.headers.llama2c import HEADER, OUTPUT, ROTARY, look_llama2c, shapes, spec_of
from regard.checkpoint.reordered import to_halves
from regard.errors import DataError
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.untrusted import opened

# theirs → ours, and whether the rows of a head are turned; each layer has those in the middle.
NAMES = {
    "token_embedding": ("target_embedding", False),
    "attention_norm": ("attention_norm.norm", False),
    "wq": ("attention.query", True),
    "wk": ("attention.key", True),
    "wv": ("attention.value", False),
    "wo": ("attention.output", False),
    "ffn_norm": ("feed_forward_norm.norm", False),
    "w1": ("feed_forward.inner", False),
    "w2": ("feed_forward.outer", False),
    "w3": ("feed_forward.gate", False),
    "final_norm": ("decoder.norm", False),
    OUTPUT: ("output", False),
}
ONCE = ("token_embedding", "final_norm", OUTPUT)
# tokenizer.bin: the longest piece, then score and length of each
LONGEST, PIECE = struct.Struct("<i"), struct.Struct("<fi")
MAX_PIECE, MAX_TOKENIZER = 1 << 16, 1 << 28  # bytes


def read_spec(path: Path) -> Spec:
    """The shape of the model, from the header; the rest of the file must be as long as it says."""
    return spec_of(strictly(look_llama2c, path).writer)


def load_llama2c(path: Path) -> Transformer:
    """The model of a llama2.c file."""
    spec = read_spec(path)
    numbers = np.memmap(path, dtype="<f4", mode="r", offset=HEADER.size)
    weights: dict[str, Tensor] = {}
    start = 0
    for theirs, shape in shapes(spec).items():
        end = start + math.prod(shape)
        if theirs != ROTARY:
            whole = torch.from_numpy(np.array(numbers[start:end])).view(shape)
            ours, turned = NAMES[theirs]
            layers = (
                {ours: whole}
                if theirs in ONCE
                else {f"decoder.layers.{i}.{ours}": part for i, part in enumerate(whole)}
            )
            for name, part in layers.items():
                weights[f"{name}.weight"] = to_halves(part, spec.k) if turned else part
        start = end
    for name, tensor in weights.items():
        check_finite(path, name, tensor)
    model = Transformer(spec, seed=None)
    load_into(model, weights)
    return model.eval()


def tokenizer_beside(path: Path, spec: Spec) -> Path | None:
    """The SentencePiece model that lies beside the weights: tok512.model for 512 pieces."""
    for name in (f"tok{spec.vocabulary}.model", "tokenizer.model"):
        if (path.parent / name).is_file():
            return path.parent / name
    return None


def refuse_llama2c_tokenizer(path: Path) -> None:
    """Refuse llama2.c's own tokenizer file: a length, then score, size and bytes of each piece.

    It says less than the SentencePiece model that it was made from: not which pieces are special,
    nor how a text is prepared.
    """
    with opened(path) as file:
        content = file.read(MAX_TOKENIZER)
    place = LONGEST.size
    while place + PIECE.size <= len(content):
        _, size = PIECE.unpack_from(content, place)
        if not 0 <= size <= MAX_PIECE:
            return
        place += PIECE.size + size
    if place == len(content) and place > LONGEST.size:
        expected = "the SentencePiece model that it was made from"
        advice = f"give that, for example --tokenizer {path.with_suffix('.model').name}"
        raise DataError(path, "a tokenizer.bin of llama2.c", expected=expected, advice=advice)
