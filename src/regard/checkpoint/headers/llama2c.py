"""llama2.c, version 0: seven whole numbers, then the weights of a Llama in a fixed order.

int32 × 7    d_model, ffn_size, layers, heads, kv_heads, vocabulary, max_length
             (a negative vocabulary: the output matrix is one of its own, at the end)
float32      what `shapes` lists; no names are in the file
"""

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path

from regard.checkpoint.headers.contents import Contents
from regard.errors import ConfigError
from regard.model.spec import Spec
from regard.untrusted import opened

HEADER = struct.Struct("<7i")
FIELDS = ("dim", "hidden_dim", "layers", "heads", "kv_heads", "vocabulary", "length")
VERSIONED = 0x616B3432  # the number with which versions 1 and later begin
OUTPUT, ROTARY = "output", "rotary"


def look_llama2c(path: Path, strict: bool = False) -> Contents:
    """The seven numbers and the tensors they imply; the rest must be as long as they say."""
    contents = Contents("llama2.c", path, strict)
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        contents.find("broken", f"{size} bytes, a llama2.c file begins with {HEADER.size}")
        return contents
    numbers = dict(zip(FIELDS, HEADER.unpack(head), strict=True))
    if numbers["dim"] == VERSIONED:
        contents.find(
            "broken",
            "llama2.c format of version 1 or later, regard reads version 0; export the model again "
            "with --version 0",
        )
        return contents
    contents.writer = {name: str(value) for name, value in numbers.items()}
    try:
        tensors = shapes(spec_of(contents.writer))
    except ConfigError as error:
        contents.find("broken", f"not a llama2.c file: {error}")
        return contents
    expected = HEADER.size + 4 * sum(math.prod(shape) for shape in tensors.values())
    if size != expected:
        contents.find(
            "broken", f"{size} bytes, its header asks for {expected}; copy the file again"
        )
        return contents
    for name, shape in tensors.items():
        if name != ROTARY:
            contents.hold(name, "F32", shape)
    return contents


def spec_of(writer: Mapping[str, str]) -> Spec:
    """The model that the seven numbers describe; a ConfigError if there is none."""
    d, f, n, heads, groups, v, length = (int(writer[name]) for name in FIELDS)
    return Spec(
        vocabulary=abs(v),
        d_model=d,
        encoder_layers=0,
        decoder_layers=n,
        heads=heads,
        kv_heads=groups,
        attention_bias=False,
        ffn_size=f,
        activation="silu",
        gated=True,
        ffn_bias=False,
        norm="rms",
        norm_order="pre",
        norm_epsilon=1e-5,
        embedding_scale=False,
        positions="rotary",
        max_length=length,
        tie="all" if v > 0 else "none",
        dropout=0.0,
    )


def shapes(spec: Spec) -> dict[str, tuple[int, ...]]:
    """Every run of numbers, in the file's order; an axis of layers comes first."""
    d, f, n, v = spec.d_model, spec.ffn_size, spec.decoder_layers, spec.vocabulary
    inner, outer = spec.heads * spec.k, spec.groups * spec.k
    own = {OUTPUT: (v, d)} if spec.tie == "none" else {}
    return {
        "token_embedding": (v, d),
        "attention_norm": (n, d),
        "wq": (n, inner, d),
        "wk": (n, outer, d),
        "wv": (n, outer, d),
        "wo": (n, d, inner),
        "ffn_norm": (n, d),
        "w1": (n, f, d),
        "w2": (n, d, f),
        "w3": (n, f, d),
        "final_norm": (d,),
        ROTARY: (2, spec.max_length, spec.k // 2),  # cosines and sines, one of each for a pair
        **own,
    }
