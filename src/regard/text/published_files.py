"""The files around a published tokenizer. In: a folder. Out: their values, within bounds.

    tokenizer_config.json     options, the text of each role, added tokens
    special_tokens_map.json   the text of each role
    added_tokens.json         text → id, in older folders
    config.json               the id of each role

A file is data: nothing in it chooses code, and a chat template is never looked at. Each file has
a largest size, checked before it is opened; each list a largest number of entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.untrusted import member, read_json, read_small_file, strict_json

# Several times what the largest published tokenizers have.
MAX_FILE = 64 * 1024 * 1024
MAX_SETTINGS = 16 * 1024 * 1024
MAX_PARTS = 4_000_000  # commas and brackets of a JSON file
MAX_VOCABULARY = 2_000_000
MAX_MERGES = 2_000_000
MAX_TOKEN = 2_000  # characters
# How many folders write "as long as you like": int(1e30), which a strict reader would not take.
NO_LIMIT = b"1000000000000000019884624838656"

ROLES = ("pad", "bos", "eos", "unk", "cls", "sep", "mask")


@dataclass(frozen=True)
class Added:
    """A token that stands outside the learned vocabulary."""

    text: str
    id: int
    special: bool = True


@dataclass(frozen=True)
class TokenizerSettings:
    """What the small files of a folder say about its tokenizer."""

    folder: Path
    options: Mapping[str, Any]  # tokenizer_config.json
    texts: Mapping[str, str]  # role → text
    ids: Mapping[str, int]  # role → id
    added: tuple[Added, ...]  # in the order of their ids

    def flag(self, key: str, default: bool) -> bool:
        """A yes or no of tokenizer_config.json; null counts as not given."""
        value = self.options.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise broken(self.folder / "tokenizer_config.json", f"{key} is {value!r}, not a yes/no")
        return value

    @property
    def max_length(self) -> int | None:
        """The most tokens a text may have; None where the files give none."""
        value = self.options.get("model_max_length")
        if isinstance(value, int) and 0 < value < 1_000_000_000:
            return value
        return None


def read_settings(folder: Path) -> TokenizerSettings:
    """The small files of a folder; each may be missing."""
    options = _object(folder, "tokenizer_config.json")
    older = _object(folder, "special_tokens_map.json")
    config = _object(folder, "config.json")
    texts = {}
    for role in ROLES:
        for values in (older, options):  # what stands in the newer file counts
            text = text_of(values.get(f"{role}_token"))
            if text is not None:
                texts[role] = text
    ids = {}
    for role in ROLES:
        value = config.get(f"{role}_token_id")
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, int) and not isinstance(first, bool) and first >= 0:
            ids[role] = first
    return TokenizerSettings(folder, options, texts, ids, _added(folder, options))


def _object(folder: Path, name: str) -> dict[str, Any]:
    path = file_in(folder, name)
    if path is None:
        return {}
    content = read_small_file(path, MAX_SETTINGS).replace(NO_LIMIT, b"null")
    values = strict_json(content, str(path))
    if not isinstance(values, dict):
        raise broken(path, f"is {type(values).__name__}, expected an object")
    return values


def text_of(value: object) -> str | None:
    """A token's text, written plainly or as an object with its content."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and 0 < len(value) <= MAX_TOKEN else None


def _added(folder: Path, options: Mapping[str, Any]) -> tuple[Added, ...]:
    """Tokens outside the vocabulary; where two files name an id, the newer file counts."""
    tokens: dict[int, Added] = {}
    for text, i in _object(folder, "added_tokens.json").items():
        if not isinstance(i, int) or not 0 <= i < MAX_VOCABULARY or text_of(text) is None:
            raise broken(folder / "added_tokens.json", f"the entry {text[:40]!r} is no token: {i}")
        tokens[i] = Added(text, i)
    table = options.get("added_tokens_decoder") or {}
    path = folder / "tokenizer_config.json"
    if not isinstance(table, dict):
        raise broken(path, "added_tokens_decoder is no object")
    for key, entry in table.items():
        content = text_of(entry)
        if not (key.isascii() and key.isdigit()) or int(key[:12]) >= MAX_VOCABULARY:
            raise broken(path, f"added_tokens_decoder: {key[:40]!r} is no id")
        if content is None:
            raise broken(path, f"added_tokens_decoder: {key} has no text of 1 to {MAX_TOKEN}")
        special = entry.get("special") is True if isinstance(entry, dict) else True
        tokens[int(key)] = Added(content, int(key), special)
    return tuple(tokens[i] for i in sorted(tokens))


def file_in(folder: Path, name: str) -> Path | None:
    """A file of the folder, or None; a link that leads elsewhere is refused."""
    return member(folder, name) if (folder / name).is_file() else None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; only a line feed, with or without a return, ends one."""
    try:
        text = read_small_file(path, MAX_FILE).decode("utf-8")
    except UnicodeDecodeError as error:
        raise broken(path, f"is not UTF-8: {error.reason} at byte {error.start}") from None
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_vocabulary(path: Path) -> dict[str, int]:
    """A vocab.json: token → id."""
    return check_vocabulary(path, read_json(path, MAX_FILE, MAX_PARTS))


def check_vocabulary(path: Path, table: object) -> dict[str, int]:
    """A table token → id within bounds; two tokens may not share an id."""
    if not isinstance(table, dict) or not 0 < len(table) <= MAX_VOCABULARY:
        raise broken(path, f"holds no vocabulary of 1 to {MAX_VOCABULARY:,} tokens")
    for token, i in table.items():
        if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < MAX_VOCABULARY:
            raise broken(path, f"the token {token[:40]!r} has the id {i!r}, which is none")
        if len(token) > MAX_TOKEN:
            raise broken(path, f"the token {token[:40]!r}… has {len(token):,} characters")
    if len(set(table.values())) != len(table):
        raise broken(path, "two tokens share an id")
    return table


def broken(path: Path, problem: str) -> DataError:
    """The error for a file that cannot be used."""
    return DataError(
        path,
        f"{problem}. Fetch the tokenizer files of the checkpoint again, from a source you trust.",
    )
