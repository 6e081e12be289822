"""Line 6: tokenizer files that are too large, too slow, or not for these weights."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from attacks.craft import canary, good
from regard.api.load import load
from regard.errors import CheckpointError, DataError
from regard.text.published import load_tokenizer
from regard.text.published_files import MAX_FILE

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "##b"]


def whole(folder: Path, **changes: Any) -> None:
    """A tokenizer.json with parts changed."""
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {word: i for i, word in enumerate(WORDS)},
    }
    values = {"version": "1.0", "added_tokens": [], "model": model | changes.pop("model", {})}
    (folder / "tokenizer.json").write_text(json.dumps(values | changes))


def lines(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)


def sparse(folder: Path, name: str) -> None:
    """A file of a gigabyte that takes no room on the disk."""
    with (folder / name).open("wb") as file:
        file.truncate(2**30)


def linked(folder: Path, name: str) -> None:
    lines(folder.parent, "secret", "\n".join(WORDS))
    (folder / name).symlink_to(folder.parent / "secret")


def pairs(folder: Path, vocabulary: str, merges: str) -> None:
    lines(folder, "vocab.json", vocabulary)
    lines(folder, "merges.txt", merges)


def pattern(folder: Path, regex: str) -> None:
    step = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    whole(folder, pre_tokenizer=step)


ATTACKS: dict[str, tuple[Any, str]] = {
    "a gigabyte of vocab.txt": (lambda f: sparse(f, "vocab.txt"), "at most"),
    "a gigabyte of tokenizer.json": (lambda f: sparse(f, "tokenizer.json"), "at most"),
    "a gigabyte of spiece.model": (lambda f: sparse(f, "spiece.model"), "at most"),
    "a gigabyte of tokenizer_config.json": (
        lambda f: sparse(f, "tokenizer_config.json"),
        "at most",
    ),
    "a token of a million letters": (
        lambda f: lines(f, "vocab.txt", "\n".join([*WORDS, "x" * 10**6])),
        "vocab.txt",
    ),
    "a token of a million letters in JSON": (
        lambda f: pairs(f, json.dumps({"x" * 10**6: 0}), "#version: 0.2\n"),
        "characters",
    ),
    "an id of 2^40": (lambda f: pairs(f, '{"a": 1099511627776}', ""), "which is none"),
    "an id below zero": (lambda f: pairs(f, '{"a": -1}', ""), "which is none"),
    "two tokens of one id": (lambda f: pairs(f, '{"a": 0, "b": 0}', ""), "share an id"),
    "a token twice": (lambda f: pairs(f, '{"a": 0, "a": 1}', ""), "twice"),
    "merges of pieces that are not there": (
        lambda f: pairs(f, '{"a": 0}', "x y\n"),
        "does not fit",
    ),
    "merges that are no pairs": (lambda f: pairs(f, '{"a": 0}', "a b c d\n"), "each two pieces"),
    "a tokenizer.json nested deep": (
        lambda f: lines(f, "tokenizer.json", "[" * 100_000),
        "nested too deep|not valid JSON",
    ),
    "a model that is a class": (lambda f: whole(f, model={"type": "os.system"}), "expected one of"),
    "a pattern of exponential time": (lambda f: pattern(f, "(a+)+$"), "exponential"),
    "a word of any length": (
        lambda f: whole(f, model={"max_input_chars_per_word": 10**12}),
        "max_input_chars_per_word",
    ),
    "an added token of 2^40": (
        lambda f: whole(f, added_tokens=[{"id": 2**40, "content": "x", "special": True}]),
        "which is none",
    ),
    "a SentencePiece model of noise": (
        lambda f: (f / "spiece.model").write_bytes(b"\x0a\xff\xff\xff\xff\x7f" + bytes(99)),
        "is no SentencePiece model",
    ),
    "a vocabulary that is a link": (lambda f: linked(f, "vocab.txt"), "out of the folder"),
    "bytes that are no text": (
        lambda f: (f / "vocab.txt").write_bytes(b"\xff\xfe" * 99),
        "not UTF-8",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_refused(name: str, tmp_path: Path) -> None:
    attack, message = ATTACKS[name]
    folder = good(tmp_path / "m")
    attack(folder)
    start = time.process_time()
    with pytest.raises((CheckpointError, DataError), match=message):
        load_tokenizer(folder)
    assert time.process_time() - start <= 10  # as in craft.py
    assert not canary(folder).exists()


def test_the_cap_is_below_the_bombs() -> None:
    assert MAX_FILE < 2**30


@pytest.mark.parametrize("surplus", [1, 1000])
def test_a_vocabulary_larger_than_the_table(surplus: int, tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    more = [f"w{i}" for i in range(31 - len(WORDS) + surplus)]
    lines(folder, "vocab.txt", "\n".join([*WORDS, *more]))
    with pytest.raises(CheckpointError, match=f"knows {31 + surplus} tokens, the weights 31"):
        load(folder, "cpu")


def test_a_template_is_never_run(tmp_path: Path) -> None:
    folder = good(tmp_path / "m")
    lines(folder, "vocab.txt", "\n".join(WORDS))
    order = f"open({str(canary(folder))!r}, 'w')"
    trap = {"chat_template": "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ " + order + " }}"}
    lines(
        folder, "tokenizer_config.json", json.dumps(trap | {"auto_map": {"AutoTokenizer": "x.Y"}})
    )
    assert load_tokenizer(folder) is not None
    assert not canary(folder).exists()
