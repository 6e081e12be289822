"""Tokenizers inside GGUF files beside the libraries whose tables they hold."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from tokenizers import Regex, pre_tokenizers

import gguf_files
from refusals import refused
from regard.checkpoint.headers.gguf import read_gguf
from regard.errors import DataError
from regard.text.published import PublishedTokenizer, load_tokenizer
from regard.text.published_gguf import read_vocabulary, sentencepiece_model
from regard.text.to_gguf import gguf_tables

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)
BARE = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
CUTS = {
    "gpt-2": BYTES,
    "smollm": gguf_files.DIGITS,
    "llama-bpe": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA_3), "isolated"), BARE]),
}


def read(tables: dict[str, Any]) -> PublishedTokenizer:
    """Lists of numbers are arrays, as a header gives them."""
    numbers = ("scores", "token_type")
    keys = {
        f"tokenizer.ggml.{key}": np.array(value) if key in numbers else value
        for key, value in tables.items()
    }
    vocabulary = read_vocabulary(keys, Path("a.gguf"))
    assert vocabulary is not None
    return vocabulary.tokenizer()


@pytest.mark.parametrize("name", CUTS)
def test_byte_pairs_as_the_tokenizers_library_cuts_them(name: str) -> None:
    theirs, tables = gguf_files.bpe(CUTS[name], ["<|begin|>", "<|im_end|>", "<|im_start|>"])
    ours = read({**tables, "pre": name, "add_bos_token": False})
    for text in gguf_files.TEXTS:
        ids = list(ours.encode(text).ids)
        assert ids == theirs.encode(text).ids, text
        assert ours.decode(ids) == text
    assert ours.roles["bos"] == 0 and ours.roles["eos"] == 1
    marked = ours.cut("<|im_start|>a<|im_end|>")
    assert (marked[0], marked[-1], ours.decode(marked)) == (2, 1, "a")


def test_a_text_begins_as_its_file_says() -> None:
    _, tables = gguf_files.bpe(BYTES, ["<s>", "</s>"])
    for pre, said, expected in (
        ("gpt-2", {}, False),
        ("llama-bpe", {}, True),
        ("gpt-2", {"add_bos_token": True}, True),
        ("llama-bpe", {"add_bos_token": False}, False),
    ):
        ids = read({**tables, "pre": pre, **said}).encode("a").ids
        assert (ids[0] == 0) is expected
    assert read({**tables, "pre": "gpt-2", "add_eos_token": True}).encode("a").ids[-1] == 1


@pytest.mark.parametrize("spaced", [True, False])
def test_scores_as_sentencepiece_cuts_by_them(spaced: bool, tmp_path: Path) -> None:
    theirs, tables = gguf_files.spm(tmp_path)
    theirs.override_normalizer_spec(add_dummy_prefix=spaced)
    ours = read({**tables, "add_space_prefix": spaced})
    for text in gguf_files.TEXTS:
        assert list(ours.encode(text).ids) == [1, *theirs.encode(text)], text
    assert ours.decode(ours.encode("the cat 你好").ids).strip() == "the cat 你好"
    assert ours.cut("</s>") == [2]


def test_a_piece_model_is_the_one_that_was_trained(tmp_path: Path) -> None:
    """Written field by field and opened by the library: the same pieces, scores and kinds."""
    theirs, tables = gguf_files.spm(tmp_path)
    model = sentencepiece_model(tables["tokens"], tables["scores"], tables["token_type"], True)
    again = sentencepiece.SentencePieceProcessor(model_proto=model)
    for i in range(theirs.get_piece_size()):
        assert again.id_to_piece(i) == theirs.id_to_piece(i)
        assert again.get_score(i) == theirs.get_score(i)
        assert again.is_byte(i) == theirs.is_byte(i) and again.is_control(i) == theirs.is_control(i)


def test_there_and_back(tmp_path: Path) -> None:
    """The files of a published folder become keys, and these the same files' ids."""
    gguf_files.spm(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer is not None
    keys = gguf_tables(tokenizer, tmp_path, gguf_files.TEXTS)
    vocabulary = read_vocabulary(keys, tmp_path)
    assert vocabulary is not None and keys["tokenizer.ggml.model"] == "llama"
    again = vocabulary.tokenizer()
    for text in gguf_files.TEXTS:
        assert again.encode(text).ids == tokenizer.encode(text).ids


def test_another_way_to_cut_has_no_name(tmp_path: Path) -> None:
    backend, _ = gguf_files.bpe(pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), BYTES]), [])
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer is not None
    with refused(DataError, problem="has no name in GGUF", expected="smollm"):
        gguf_tables(tokenizer, tmp_path, ())
    values = json.loads(backend.to_str())
    values["model"] = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    words = load_tokenizer(tmp_path)
    assert words is not None
    with refused(DataError, problem="WordLevel"):
        gguf_tables(words, tmp_path, ())


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"model": "bert"}, {"got": "bert", "expected": "byte-level BPE"}),
        ({"pre": "tekken"}, {"got": "tekken", "expected": "smollm"}),
        ({"pre": None}, {"got": "nothing", "advice": "newer"}),
        ({"tokens": [1, 2]}, {"problem": "texts"}),
        ({"tokens": ["a", "a"]}, {"problem": "twice"}),
        ({"tokens": ["x" * 3000, "b"]}, {"problem": "characters"}),
        ({"token_type": [1, 2, 3]}, {"problem": "does not fit"}),
        ({"merges": ["a b c"]}, {"problem": "two pieces"}),
        ({"bos_token_id": 10**9}, {"got": 10**9, "expected": "an id"}),
        ({"add_bos_token": "yes"}, {"got": "yes"}),
    ],
)
def test_tables_that_do_not_fit(change: dict[str, Any], fields: dict[str, Any]) -> None:
    _, tables = gguf_files.bpe(BYTES, ["<s>", "</s>"])
    with refused(DataError, **fields):
        read({**tables, "pre": "gpt-2", **change})


def test_a_header_without_a_tokenizer(tmp_path: Path) -> None:
    path = gguf_files.write(tmp_path / "a.gguf", gguf_files.twin(), tokens={})
    assert read_vocabulary(read_gguf(path).values, path) is None
