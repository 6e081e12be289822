"""Tokenizers that come with a published model. In: its folder. Out: text ↔ ids as it was trained.

    tokenizer.json                           any of the below, in one file
    vocab.txt                                WordPiece (BERT)
    vocab.json, merges.txt                   byte-level BPE (GPT-2, RoBERTa)
    spiece.model                             SentencePiece, ends with </s> (T5)
    tokenizer.model                          SentencePiece, begins with <s> (Llama)
    source.spm, target.spm, vocab.json       SentencePiece for two languages (Marian)

Which kind it is, the files' names say; whether they fit the weights, their loader asks (`size`).
Unlike our own tokenizer, a special token that stands in a text is that token: "[MASK]" and
"<extra_id_0>" are how these models are asked. Decoding leaves special tokens out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, MisuseError
from regard.text.encoded import ContextWindow, Encoded, Places
from regard.text.pieces import label, spell_bytes
from regard.text.published_backend import (
    BackendCodec,
    read_byte_pairs,
    read_tokenizer_json,
    read_wordpiece,
)
from regard.text.published_files import ROLES, TokenizerSettings, file_in, read_settings
from regard.text.published_pieces import PieceCodec, read_marian, read_spiece, read_tokenizer_model

AnyCodec = BackendCodec | PieceCodec
IdSequence = Iterable[int] | NDArray[np.integer[Any]]

MAX_TEXT = 1_000_000  # characters; cutting is not linear for every pattern
# What a role is called where no file says it, if the token is there and marked as special.
CUSTOMARY = {
    "pad": ("[PAD]", "<pad>"),
    "bos": ("<s>", "<|endoftext|>", "<|begin_of_text|>"),
    "eos": ("</s>", "<|endoftext|>", "<|end_of_text|>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True)
class PublishedTokenizer:
    """Text ↔ ids of a published model; made by `load_tokenizer`."""

    codec: AnyCodec
    roles: dict[str, int]  # pad, bos, eos, unk, cls, sep, mask: those that this model has
    max_length: int | None  # the most tokens a text may have, as far as its files say

    @property
    def size(self) -> int:
        """One more than the highest id; an embedding needs at least as many rows."""
        return len(self.codec.tokens)

    @property
    def mask_id(self) -> int | None:
        """The id of the token that stands for a word to be filled in."""
        return self.roles.get("mask")

    def encode(self, text: str, pair: str | None = None, limit: int | None = None) -> Encoded:
        """The ids of a text, or of two, with special tokens as in training; at most `limit`."""
        for each in (text, pair):
            _check_text(each)
        return self.codec.encode(text, pair, limit)

    def cut(self, text: str) -> list[int]:
        """The ids of a text alone, without what stands around texts."""
        _check_text(text)
        return self.codec.cut(text)

    def encode_words(
        self, words: Sequence[str], limit: int | None = None
    ) -> tuple[Encoded, Places]:
        """The ids of words, a space between each two, and the place of each one's first piece."""
        ends = list(accumulate(len(word) + 1 for word in words))
        spans = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
        return self.encode_places(" ".join(words), spans, limit)

    def encode_places(
        self, text: str, spans: Sequence[tuple[int, int]], limit: int | None = None
    ) -> tuple[Encoded, Places]:
        """The ids of a text, and at which of them each span of its characters begins."""
        _check_text(text)
        return self._backend.encode_places(text, spans, limit)

    def encode_windows(
        self, question: str, context: str, limit: int | None = None, stride: int = 128
    ) -> tuple[list[ContextWindow], int]:
        """A question with each window of its context, and how many of its tokens were cut off."""
        for each in (question, context):
            _check_text(each)
        return self._backend.encode_windows(question, context, limit, stride)

    @property
    def _backend(self) -> BackendCodec:
        """The codec, if it knows which characters a piece stands for."""
        if not isinstance(self.codec, BackendCodec):
            raise MisuseError(
                "a SentencePiece model does not say which word a piece belongs to; expected a "
                "tokenizer.json, or vocab.txt"
            )
        return self.codec

    def encode_batch(self, texts: Sequence[str], limit: int | None = None) -> list[list[int]]:
        """The ids of many texts, as `encode` gives them one by one."""
        for each in texts:
            _check_text(each)
        return self.codec.encode_batch(texts, limit)

    def encode_target(self, text: str) -> Encoded:
        """The ids of a text in the language that comes out, where that is another one."""
        _check_text(text)
        return self.codec.encode_target(text)

    def decode(self, ids: IdSequence) -> str:
        """The text of ids; special ones are left out, and those that no token has."""
        hidden = frozenset(self.codec.special.values())
        return self.codec.decode([i for i in _row(ids) if self._token(i) and i not in hidden])

    def pieces(self, ids: IdSequence) -> list[str]:
        """One readable label per id: "▁" for a space, ‹e2› for half a character, "[CLS]"."""
        return [self._label(i) for i in _row(ids)]

    def word_groups(self, ids: IdSequence) -> list[tuple[str, list[int]]]:
        """Words and the places in `ids` that form them, each place in exactly one.

        What goes on with a word, `later` says; so does a piece that begins in the middle of a
        character. A special token stands alone.
        """
        row, special = _row(ids), frozenset(self.codec.special.values())
        groups: list[list[int]] = []
        for place, (i, piece) in enumerate(zip(row, self.pieces(row), strict=True)):
            goes_on = self._token(i) and i not in special and (self.later[i] or piece[0] == "‹")
            if goes_on and groups and row[groups[-1][-1]] not in special:
                groups[-1].append(place)
            else:
                groups.append([place])
        return [(self._word([row[place] for place in places]), places) for places in groups]

    def _word(self, ids: list[int]) -> str:
        """What pieces spell together; halves of characters make whole ones."""
        first, *rest = self.pieces(ids)
        word = first + "".join(piece.removeprefix("##") for piece in rest)
        if rest and "‹" in word:
            decoded = self.decode(ids).strip()
            word = word if "\ufffd" in decoded else decoded
        return word.removeprefix("▁") or word

    @cached_property
    def later(self) -> NDArray[np.bool_]:
        """Of each id, whether it goes on with the word before it."""
        pieces = self.pieces(range(self.size))
        if any(piece.startswith("##") for piece in pieces):  # WordPiece marks what goes on
            return np.array([piece.startswith("##") for piece in pieces])
        begins = any(piece.startswith("▁") for piece in pieces)  # others mark what begins a word
        return np.array([begins and piece[:1].isalnum() for piece in pieces])

    def _token(self, i: int) -> str:
        """A token as its file writes it; "" for a row of the embedding that no token has."""
        return self.codec.tokens[i] if i < self.size else ""

    def _label(self, i: int) -> str:
        token = self._token(i)
        if not token:
            return f"‹{i}›"
        if token in self.codec.special:
            return token
        if self.codec.is_byte_level:
            try:
                return label(spell_bytes(token))
            except KeyError:  # an added token is written as it reads
                return label(token.encode())
        byte = re.fullmatch("<0x([0-9A-F]{2})>", token)
        return label(bytes.fromhex(byte[1]) if byte else token.encode())


def _row(ids: IdSequence) -> list[int]:
    """Plain ints, none of them negative: Python would count those from the end."""
    row = [int(i) for i in ids]
    if row and min(row) < 0:
        raise DataError("tokenizer", f"got the id {min(row)}", expected="0 or more")
    return row


def load_tokenizer(folder: Path) -> PublishedTokenizer | None:
    """The tokenizer of a published folder; None where the folder has no files of one."""
    settings = read_settings(folder)
    codec = _codec(folder, settings)
    if codec is None:
        return None
    return PublishedTokenizer(codec, roles_of(codec, settings), settings.max_length)


def _codec(folder: Path, settings: TokenizerSettings) -> AnyCodec | None:
    table = file_in(folder, "vocab.json")
    source, target = file_in(folder, "source.spm"), file_in(folder, "target.spm")
    if source and target and table:
        return read_marian(source, target, table, settings)
    whole = file_in(folder, "tokenizer.json")
    if whole:
        return read_tokenizer_json(whole, settings)
    words = file_in(folder, "vocab.txt")
    if words:
        return read_wordpiece(words, settings)
    merges = file_in(folder, "merges.txt")
    if table and merges:
        return read_byte_pairs(table, merges, settings)
    for name, read in {
        "spiece.model": read_spiece,
        "tokenizer.model": read_tokenizer_model,
    }.items():
        path = file_in(folder, name)
        if path:
            return read(path, settings)
    return None


def roles_of(codec: AnyCodec, settings: TokenizerSettings) -> dict[str, int]:
    """By the text that a file gives, else by the id of config.json, else by custom."""
    by_text = {token: i for i, token in enumerate(codec.tokens)} | dict(codec.special)
    roles: dict[str, int] = {}
    for role in ROLES:
        named = settings.texts.get(role)
        stated = settings.ids.get(role)
        usual = next((text for text in CUSTOMARY[role] if text in codec.special), None)
        if named is not None and named in by_text:
            roles[role] = by_text[named]
        elif stated is not None and stated < len(codec.tokens):
            roles[role] = stated
        elif usual is not None:
            roles[role] = codec.special[usual]
    return roles


def _check_text(text: str | None) -> None:
    if text is None:
        return
    if len(text) > MAX_TEXT:
        problem = f"got {len(text):,} characters"
        raise MisuseError("text", problem, expected=f"at most {MAX_TEXT:,}", advice="divide it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"text: character {error.start} is the lone surrogate U+{ord(text[error.start]):04X}, "
            "which is no Unicode text; it often comes from bytes that are not UTF-8. Clean it."
        ) from None
