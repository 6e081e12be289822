"""The tokenizer inside a GGUF file. In: its keys. Out: text ↔ ids as llama.cpp has them.

    tokenizer.ggml.model     llama: SentencePiece's byte pairs, by scores; gpt2: byte-level BPE
    tokenizer.ggml.pre       of gpt2: how a text is cut before pairs are merged, by a name
    tokens, scores, token_type, merges      the tables

`llama` becomes a SentencePiece model, which has the same three tables; `gpt2` a tokenizer.json. So
both are run by the libraries that run published folders, and `convert` can write them as files. A
name that is not in `CUTS` is refused: to cut otherwise would give other ids without a word. The
chat template of a file is code and is never looked at.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError
from regard.text.kinds import BYTES_SPLIT
from regard.text.published import PublishedTokenizer, roles_of
from regard.text.published_backend import read_tables
from regard.text.published_files import MAX_MERGES, MAX_TOKEN, MAX_VOCABULARY, TokenizerSettings
from regard.text.published_pieces import piece_codec

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, OWN, UNUSED, BYTE = range(1, 7)  # of both formats
ROLES = {"bos": "bos_token_id", "eos": "eos_token_id", "unk": "unknown_token_id",
         "pad": "padding_token_id"}  # fmt: skip
BPE = 2  # how SentencePiece numbers its kinds


@dataclass(frozen=True)
class FirstCut:
    """How byte-level BPE cuts a text first, in the words of a tokenizer.json."""

    steps: tuple[dict[str, Any], ...]
    whole_first: bool = False  # a piece that is a token is not merged from smaller ones
    begins: bool = False  # a text begins with <s> unless the file says otherwise

    @property
    def pre_tokenizer(self) -> dict[str, Any]:
        return {"type": "Sequence", "pretokenizers": list(self.steps)}


def _bytes(use_regex: bool) -> dict[str, Any]:
    rest = {"trim_offsets": True, "use_regex": use_regex}
    return {"type": "ByteLevel", "add_prefix_space": False, **rest}


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT2 = FirstCut((_bytes(use_regex=True),))
_DIGITS = FirstCut(({"type": "Digits", "individual_digits": True}, _bytes(use_regex=True)))
_THREES = FirstCut((_split(_LLAMA_3), _bytes(use_regex=False)), whole_first=True, begins=True)
CUTS = {
    "gpt-2": _GPT2,
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "llama-bpe": _THREES,
    "llama3": _THREES,
    "llama-v3": _THREES,
    "regard": FirstCut((_split(BYTES_SPLIT), _bytes(use_regex=False))),  # runs: text/kinds.py
}


@dataclass(frozen=True)
class GgufVocabulary:
    """The tables, within bounds; `files` has them as a published folder would."""

    path: Path
    tokens: list[str]
    types: list[int]
    settings: TokenizerSettings
    files: Mapping[str, bytes]  # tokenizer.json or tokenizer.model, and tokenizer_config.json

    def tokenizer(self) -> PublishedTokenizer:
        """Text ↔ ids."""
        if "tokenizer.model" in self.files:
            codec = piece_codec(self.files["tokenizer.model"], self.path, self.settings)
            return PublishedTokenizer(codec, roles_of(codec, self.settings), None)
        tables = read_tables(self.files["tokenizer.json"], self.path, self.settings)
        return PublishedTokenizer(tables, roles_of(tables, self.settings), None)


def read_vocabulary(values: Mapping[str, Any], path: Path) -> GgufVocabulary | None:
    """The vocabulary that the keys of a file hold; None where they hold none."""
    model = values.get(f"{PREFIX}model")
    if model in (None, "none", "no_vocab"):
        return None
    if model not in ("llama", "gpt2"):
        expected = "llama (SentencePiece) or gpt2 (byte-level BPE)"
        raise DataError(f"{path}: {PREFIX}model", got=model, expected=expected)
    tokens = _texts(values, path, "tokens", MAX_VOCABULARY)
    if not tokens or max(map(len, tokens)) > MAX_TOKEN or not all(tokens):
        problem = f"expected tokens of 1 to {MAX_TOKEN} characters"
        raise DataError(f"{path}: {PREFIX}tokens", problem)
    if len(set(tokens)) != len(tokens):
        raise DataError(f"{path}: {PREFIX}tokens", "a token stands in it twice")
    types = _numbers(values, path, "token_type", len(tokens), NORMAL)
    if any(not NORMAL <= kind <= BYTE for kind in types):
        raise DataError(f"{path}: {PREFIX}token_type", "expected whole numbers from 1 to 6")
    whole = [int(kind) for kind in types]
    if model == "llama":
        return _by_scores(values, path, tokens, whole)
    return _by_merges(values, path, tokens, whole)


def _by_scores(
    values: Mapping[str, Any], path: Path, tokens: list[str], types: list[int]
) -> GgufVocabulary:
    scores = _numbers(values, path, "scores", len(tokens), None)
    if types.count(UNKNOWN) != 1:
        problem = f"{types.count(UNKNOWN)} tokens stand for what is unknown"
        raise DataError(f"{path}: {PREFIX}token_type", problem, expected="one")
    spaced = _flag(values, path, "add_space_prefix", True)
    settings = _settings(values, path, tokens, begins=True)
    fewer = _flag(values, path, "remove_extra_whitespaces", False)
    files = {"tokenizer.model": sentencepiece_model(tokens, scores, types, spaced, fewer)}
    return GgufVocabulary(path, tokens, types, settings, files | _config_file(settings))


def _by_merges(
    values: Mapping[str, Any], path: Path, tokens: list[str], types: list[int]
) -> GgufVocabulary:
    name = values.get(f"{PREFIX}pre")
    if name not in CUTS:
        advice = "a file without it was made before 2024; take a newer one" if name is None else ""
        expected = f"one of {', '.join(CUTS)}"
        subject = f"{path}: {PREFIX}pre"
        raise DataError(subject, got=name or "nothing", expected=expected, advice=advice)
    cut = CUTS[name]
    merges = [tuple(line.split(" ")) for line in _texts(values, path, "merges", MAX_MERGES)]
    if any(len(pair) != 2 for pair in merges):
        raise DataError(f"{path}: {PREFIX}merges", "expected two pieces with a space between")
    added = [
        {"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": types[i] in (CONTROL, UNKNOWN)}
        for i, token in enumerate(tokens) if types[i] in (CONTROL, UNKNOWN, OWN)
    ]  # fmt: skip
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
        "ignore_merges": cut.whole_first, "vocab": {token: i for i, token in enumerate(tokens)},
        "merges": [list(pair) for pair in merges],
    }  # fmt: skip
    tables = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": cut.pre_tokenizer, "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                    "use_regex": True}, "model": model,
    }  # fmt: skip
    settings = _settings(values, path, tokens, begins=cut.begins)
    files = {"tokenizer.json": json.dumps(tables, ensure_ascii=False).encode()}
    return GgufVocabulary(path, tokens, types, settings, files | _config_file(settings))


def _settings(
    values: Mapping[str, Any], path: Path, tokens: Sequence[str], begins: bool
) -> TokenizerSettings:
    """Roles by their ids, and what stands around a text."""
    texts, ids = {}, {}
    for role, key in ROLES.items():
        value = values.get(PREFIX + key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(tokens):
            expected = f"an id, 0 to {len(tokens) - 1}"
            raise DataError(f"{path}: {PREFIX}{key}", got=value, expected=expected)
        texts[role], ids[role] = tokens[value], value
    options = {
        "add_bos_token": _flag(values, path, "add_bos_token", begins) and "bos" in texts,
        "add_eos_token": _flag(values, path, "add_eos_token", False) and "eos" in texts,
        "legacy": False,
    }
    return TokenizerSettings(path, options, texts, ids, ())


def _config_file(settings: TokenizerSettings) -> dict[str, bytes]:
    """tokenizer_config.json with the same."""
    roles = {f"{role}_token": text for role, text in settings.texts.items()}
    return {"tokenizer_config.json": json.dumps({**settings.options, **roles}, indent=2).encode()}


def _texts(values: Mapping[str, Any], path: Path, key: str, most: int) -> list[str]:
    found = values.get(PREFIX + key, [])  # an empty list is often left out
    is_list = isinstance(found, list) and all(isinstance(text, str) for text in found)
    if not is_list or len(found or ()) > most:
        raise DataError(f"{path}: {PREFIX}{key}", f"expected a list of at most {most:,} texts")
    return list(found or ())


def _numbers(
    values: Mapping[str, Any], path: Path, key: str, count: int, usual: float | None
) -> list[float]:
    """As many numbers as there are tokens; `usual`: of each where the key is missing."""
    found = values.get(PREFIX + key)
    if found is None and usual is not None:
        return [usual] * count
    if not isinstance(found, np.ndarray) or len(found) != count or not np.isfinite(found).all():
        expected = f"{count:,} numbers, one for each token"
        raise DataError(f"{path}: {PREFIX}{key}", "does not fit tokens", expected=expected)
    return list(found.tolist())


def _flag(values: Mapping[str, Any], path: Path, key: str, usual: bool) -> bool:
    value = values.get(PREFIX + key, usual)
    if not isinstance(value, bool):
        raise DataError(f"{path}: {PREFIX}{key}", got=value, expected="true or false")
    return value


def sentencepiece_model(
    tokens: Sequence[str],
    scores: Sequence[float],
    types: Sequence[int],
    spaced: bool,
    fewer: bool = False,
) -> bytes:
    """The three tables as the SentencePiece library reads them: a protocol buffer.

    1 pieces: 1 text, 2 score, 3 type · 2 training: 3 kind, 35 bytes for what is unknown, 40 to 43
    ids of roles · 3 text: 1 name, 3 a space before it, 4 of several spaces one, 5 spaces are ▁
    """
    pieces = b"".join(
        _field(1, _field(1, token.encode()) + _float(2, score) + _field(3, kind))
        for token, score, kind in zip(tokens, scores, types, strict=True)
    )
    unknown = types.index(UNKNOWN)
    trained = _field(3, BPE) + _field(4, len(tokens)) + _field(35, int(BYTE in types))
    trained += _field(40, unknown) + b"".join(_field(n, 2**64 - 1) for n in (41, 42, 43))
    trained += _field(45, tokens[unknown].encode())
    text = _field(1, b"identity") + _field(3, int(spaced)) + _field(4, int(fewer)) + _field(5, 1)
    return pieces + _field(2, trained) + _field(3, text)


def _field(number: int, value: int | bytes) -> bytes:
    """A whole number, or bytes with their length before them."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)
