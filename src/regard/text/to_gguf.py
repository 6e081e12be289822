"""A published tokenizer → the keys of a GGUF file; text/published_gguf.py reads them back.

Which of the two kinds it becomes, its own kind says; one that cuts in a way that `CUTS` has no name
for is refused, as is one whose ids would come out otherwise when they are read back.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError
from regard.text.published import PublishedTokenizer
from regard.text.published_backend import BackendCodec
from regard.text.published_gguf import (
    BYTE,
    CONTROL,
    CUTS,
    NORMAL,
    OWN,
    PREFIX,
    ROLES,
    UNKNOWN,
    UNUSED,
    read_vocabulary,
)
from regard.text.published_pieces import read_pieces

Tables = dict[str, Any]


def gguf_tables(tokenizer: PublishedTokenizer, folder: Path, probe: Sequence[str]) -> Tables:
    """The keys of a tokenizer whose files lie in the folder; ids of `probe` come out the same."""
    codec = tokenizer.codec
    if isinstance(codec, BackendCodec):
        tables = _of_backend(tokenizer, json.loads(codec.written()), folder)
    else:
        tables = _of_pieces(tokenizer, folder)
    for role, key in ROLES.items():
        if role in tokenizer.roles:
            tables[key] = tokenizer.roles[role]
    tables |= _frame(tokenizer, folder)
    keys = {PREFIX + key: value for key, value in tables.items()}
    check_same(tokenizer, keys, folder, probe)
    return keys


def check_same(
    tokenizer: PublishedTokenizer, keys: Mapping[str, Any], folder: Path, probe: Sequence[str]
) -> None:
    """Read back, it gives the same ids: of some sentences, and of what each token says."""
    again = read_vocabulary(keys, folder)
    assert again is not None
    other = again.tokenizer()
    texts = [*probe, *(tokenizer.decode([i]) for i in range(0, tokenizer.size, 7))]
    for text in texts:
        one, two = tokenizer.encode(text).ids, other.encode(text).ids
        if one != two:
            problem = f"its tokenizer has no form in GGUF: {text[:40]!r} would become other ids"
            raise DataError(folder, problem, advice="convert it with --to hf")


def _of_backend(tokenizer: PublishedTokenizer, file: Tables, folder: Path) -> Tables:
    """Byte pairs that the tokenizers library merges."""
    model = file["model"]
    if model["type"] != "BPE":
        problem = f"its tokenizer is {model['type']}, GGUF of Llama holds byte pairs"
        advice = 'train with [tokenizer] kind = "gpt2" or "bytes"'
        raise DataError(folder, problem, advice=advice)
    pairs = [p.split(" ") if isinstance(p, str) else p for p in model["merges"]]
    own = {t["content"] for t in file["added_tokens"] if not t["special"]}
    if model.get("byte_fallback"):
        made = {"".join(pair): -float(rank) for rank, pair in reversed([*enumerate(pairs, 1)])}
        scores = [made.get(token, 0.0) for token in tokenizer.codec.tokens]
        return _scored(tokenizer, scores, own)
    name = _cut_of(file, folder)
    tokens, types = _tokens(tokenizer, own)
    return {
        "model": "gpt2",
        "pre": name,
        "tokens": tokens,
        "token_type": np.array(types, np.int32),
        "merges": [" ".join(pair) for pair in pairs],
    }


def _cut_of(file: Tables, folder: Path) -> str:
    """The name of the way in which a tokenizer.json cuts a text first."""
    steps = _steps(file["pre_tokenizer"])
    whole_first = bool(file["model"].get("ignore_merges"))
    for name, cut in CUTS.items():
        if steps == _steps(cut.pre_tokenizer) and whole_first == cut.whole_first:
            return name
    problem = "its tokenizer cuts texts in a way that has no name in GGUF"
    raise DataError(folder, problem, expected=f"that of {', '.join(CUTS)}")


def _steps(pre_tokenizer: Any) -> list[Tables]:
    """The steps, without what changes no id."""
    inner = (pre_tokenizer or {}).get("pretokenizers", [pre_tokenizer])
    return [{k: v for k, v in (step or {}).items() if k != "trim_offsets"} for step in inner]


def _of_pieces(tokenizer: PublishedTokenizer, folder: Path) -> Tables:
    """A SentencePiece model: its scores are in its file."""
    path = folder / "tokenizer.model"
    if not path.is_file():
        raise DataError(folder, "its tokenizer has no form in GGUF", expected="tokenizer.model")
    pieces = read_pieces(path)
    scores = [pieces.get_score(i) for i in range(pieces.get_piece_size())]
    scores += [0.0] * (tokenizer.size - len(scores))
    return _scored(tokenizer, scores, set())


def _scored(tokenizer: PublishedTokenizer, scores: list[float], own: set[str]) -> Tables:
    tokens, types = _tokens(tokenizer, own)
    types = [
        BYTE if kind == NORMAL and re.fullmatch("<0x[0-9A-F]{2}>", token) else kind
        for token, kind in zip(tokens, types, strict=True)
    ]
    unknown = tokenizer.roles.get("unk")
    if unknown is not None:
        types[unknown] = UNKNOWN
    first = tokenizer.pieces(tokenizer.cut("a"))
    return {
        "model": "llama",
        "pre": "default",
        "tokens": tokens,
        "scores": np.array(scores, np.float32),
        "token_type": np.array(types, np.int32),
        "add_space_prefix": bool(first) and first[0].startswith("▁"),
        "remove_extra_whitespaces": tokenizer.cut("a  a") == tokenizer.cut("a a"),
    }


def _tokens(tokenizer: PublishedTokenizer, own: set[str]) -> tuple[list[str], list[int]]:
    """Every id has a token of its own, and what it is."""
    special = set(tokenizer.codec.special.values())
    tokens = [token or f"[unused {i}]" for i, token in enumerate(tokenizer.codec.tokens)]
    types = [
        UNUSED if not token else CONTROL if i in special else OWN if token in own else NORMAL
        for i, token in enumerate(tokenizer.codec.tokens)
    ]
    return tokens, types


def _frame(tokenizer: PublishedTokenizer, folder: Path) -> Tables:
    """What stands around a text: <s> before it, </s> after it, or nothing."""
    frame, roles = list(tokenizer.encode("").ids), tokenizer.roles
    for begins in (False, True):
        for ends in (False, True):
            wanted = [roles.get("bos")] * begins + [roles.get("eos")] * ends
            if frame == wanted:
                return {"add_bos_token": begins, "add_eos_token": ends}
    raise DataError(folder, f"its tokenizer puts {frame} around texts", expected="<s> or </s>")
