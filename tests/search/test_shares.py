"""The shares of a match add up to its cosine, whatever the pooling."""

import json
from pathlib import Path

import numpy as np
import pytest

import folders
from regard.search.encoder import Encoder, open_encoder
from regard.search.shares import Shares, WordShare, token_shares, word_shares

TEXTS = [
    "the cat sat on a red mat.",
    "  two   birds\nand the   sea ",
    "a",
    "house " * 40,
    "unknown кот 猫",
]
POOLINGS = ["mean", "cls", "max", ["mean", "max"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shares") / "bert"
    folders.bert(made, "")
    return made


def pooled(folder: Path, pooling: object, prompt: str = "") -> Encoder:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode": pooling}))
    steps = [{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "1_Pooling"}]
    (folder / "modules.json").write_text(json.dumps(steps))
    prompts = {"prompts": {"p": prompt}, "default_prompt_name": "p"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return open_encoder(folder, "cpu")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("pooling", POOLINGS, ids=str)
def test_shares_add_up_to_the_cosine(folder: Path, pooling: object) -> None:
    encoder = pooled(folder, pooling)
    query = encoder.embed(["one bad dog"])[0]
    for text in TEXTS:
        wanted = cosine(encoder.embed([text])[0], query)
        assert abs(token_shares(encoder, text, query).sum() - wanted) < 1e-6
        shares = word_shares(encoder, text, query)
        assert abs(shares.score - wanted) < 1e-6
        assert [text[word.start : word.end] for word in shares.words] == text.split()[:21]


def test_of_the_first_token_there_is_nothing_to_highlight(folder: Path) -> None:
    encoder = pooled(folder, "cls")
    shares = word_shares(encoder, TEXTS[0], encoder.embed(["a dog"])[0])
    assert abs(shares.rest - shares.score) < 1e-9 and shares.outstanding() == []


def test_a_prompt_is_no_word_of_the_passage(folder: Path) -> None:
    encoder = pooled(folder, "mean", prompt="the sea ")
    assert encoder.frame == 4  # [CLS] the sea [SEP]
    assert encoder.count("cat mat") == 2
    query = encoder.embed(["a dog"])[0]
    shares = word_shares(encoder, "cat mat", query)
    assert [word.word for word in shares.words] == ["cat", "mat"]
    by_token = token_shares(encoder, "cat mat", query)
    assert np.allclose([word.share for word in shares.words], by_token[3:5])


def test_few_words_stand_out_and_each_says_something() -> None:
    given = {"|": 0.4, "loan": 0.2, "the": 0.01, "of": 0.02, "bank": 0.15, "a": -0.05, "in": 0.01}
    words = [WordShare(word, n, n + 1, share) for n, (word, share) in enumerate(given.items())]
    assert [word.word for word in Shares(words, 0.1).outstanding()] == ["loan"]  # 7 // 4 words
    more = Shares(words * 2, 0.1)  # the average is 0.12: bank, with 0.15, is no 1.5 times of it
    assert {word.word for word in more.outstanding()} == {"loan"}
    assert more.score == pytest.approx(2 * sum(given.values()) + 0.1)
    assert Shares([], 0.3).outstanding() == []
