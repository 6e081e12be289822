"""llama2.c: seven whole numbers, then the weights of a Llama in a fixed order; no names in it."""

import struct
from pathlib import Path

from regard.checkpoint.headers.held import Contents

FIELDS = ("dim", "hidden_dim", "layers", "heads", "kv_heads", "vocabulary", "length")


def look_llama2c(path: Path) -> Contents | None:
    """The seven numbers and the tensors they imply; None when the file's size contradicts them."""
    with path.open("rb") as file:
        head = file.read(28)
    if len(head) < 28:
        return None
    d, f, n, h, g, v, length = struct.unpack("<7i", head)
    own_head, v = v < 0, abs(v)  # a negative vocabulary says that the output matrix is its own
    if min(d, f, n, h, g, v, length) < 1 or max(d, f, n, h, g, v, length) > 2**24 or d % h:
        return None
    kv, k = g * (d // h), d // h
    shapes = {
        "token_embedding": (v, d),
        "attention_norm": (n, d),
        "wq": (n, d, d),
        "wk": (n, kv, d),
        "wv": (n, kv, d),
        "wo": (n, d, d),
        "ffn_norm": (n, d),
        "w1": (n, f, d),
        "w2": (n, d, f),
        "w3": (n, f, d),
        "final_norm": (d,),
        "rotary_cos": (length, k // 2),
        "rotary_sin": (length, k // 2),
    }
    if own_head:
        shapes["output"] = (v, d)
    found = Contents("llama2.c")
    for name, shape in shapes.items():
        found.hold(name, "F32", shape)
    if path.stat().st_size != 28 + 4 * sum(held.count for held in found.tensors):
        return None
    found.tensors = [held for held in found.tensors if not held.name.startswith("rotary_")]
    values = (d, f, n, h, g, v, length)
    found.writer = {name: str(value) for name, value in zip(FIELDS, values, strict=True)}
    return found
