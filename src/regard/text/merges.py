"""Merges as subword-nmt writes them, `</w>` at the end of a word. In: a file. Out: a tokenizer.

A word is what stands between white space. Its letters are the first pieces, the last one marked:
"low" is l o w</w>. Then the merge that comes first in the file is made wherever it fits, and so on:

    #version: 0.2
    l o
    lo w</w>          low → l o w</w> → lo w</w> → low</w>

Much published data for translation comes with such a file ("codes"). Two things hold here too: a
letter that no text showed is `<unk>`, and text never spells a special token, so a merge that would
make one is left out.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import models

from regard.errors import CheckpointError, DataError
from regard.text.pieces import END_OF_WORD
from regard.text.special import TEXTS
from regard.untrusted import read_small_file

HEADER = "#version: 0.2"
MAX_FILE = 1 << 26  # bytes of a file of merges
_SPECIALS = list(TEXTS.values())


def read_merges(path: Path) -> list[tuple[str, str]]:
    """The merges of a file of subword-nmt, the first one first."""
    try:
        lines = read_small_file(path, MAX_FILE).decode("utf-8").splitlines()
    except (CheckpointError, UnicodeDecodeError) as error:
        raise _unusable(path, f"cannot be read: {error}") from error
    if not lines or lines[0].rstrip() != HEADER:
        raise _unusable(path, "does not begin with that line")
    merges: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines[1:], 2):
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts) or parts[0].endswith(END_OF_WORD):
            raise _unusable(path, f"line {number} is no merge of two pieces of a word")
        merges.setdefault((parts[0], parts[1]))
    if not merges:
        raise _unusable(path, "holds no merge")
    return list(merges)


def with_merges(merges: Iterable[tuple[str, str]], texts: Iterable[str], empty: Backend) -> Backend:
    """`empty` with these merges; each letter of the texts is a piece, inside and ending a word."""
    allowed = [pair for pair in merges if _is_allowed(pair)]
    letters = {letter for text in texts for letter in text if not letter.isspace()}
    letters |= {letter for pair in allowed for piece in pair for letter in _letters(piece)}
    alphabet = [form for x in sorted(letters) for form in (x, x + END_OF_WORD)]
    made = [piece for left, right in allowed for piece in (left, right, left + right)]
    pieces = dict.fromkeys([*_SPECIALS, *alphabet, *made])  # each once
    empty.model = models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=allowed,
        unk_token=TEXTS["unk"],
        end_of_word_suffix=END_OF_WORD,
    )
    empty.add_special_tokens(_SPECIALS)
    return empty


def without_spelled_specials(backend: Backend) -> Backend:
    """The same without merges that make a special token; for one that was learned from texts."""
    tables: dict[str, Any] = json.loads(backend.to_str())
    model = tables["model"]
    model["merges"] = [pair for pair in model["merges"] if _is_allowed(pair)]
    return Backend.from_str(json.dumps(tables))


def _is_allowed(pair: Sequence[str]) -> bool:
    return {"".join(pair), *pair}.isdisjoint(_SPECIALS)


def _letters(piece: str) -> str:
    return piece.removesuffix(END_OF_WORD)


def _unusable(path: Path, problem: str) -> DataError:
    expected = f'merges as subword-nmt writes them: a line "{HEADER}", then two pieces a line'
    return DataError(path, problem, expected=expected)
