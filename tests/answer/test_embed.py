"""Embeddings of a small twin against the sentence-transformers library, in each layout."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import parity.twins as twins
from regard.answer import embed
from regard.answer.text_inputs import numbers_by_length
from regard.api.load import load
from regard.bundle.pooling import Pooling, read_pooling
from regard.errors import CheckpointError, DataError
from regard.text.published import load_tokenizer

library = pytest.importorskip("sentence_transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank", "river", "##s", "of", "a"]
TEXTS = ["the river", "the bank of the rivers of a river", "a", "", "THE Bank " * 30]
TYPE = "sentence_transformers.models."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=20,
        num_attention_heads=5,
        num_hidden_layers=2,
        intermediate_size=37,
        max_position_embeddings=23,
    )
    made = twins.save_twin(transformers.BertModel(config), tmp_path_factory.mktemp("twin"))
    (made / "vocab.txt").write_text("\n".join(WORDS))
    (made / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return made


def write_layout(folder: Path, steps: list[str], pooling: dict[str, object], limit: int) -> None:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    modules = [
        {"idx": n, "name": str(n), "path": "" if n == 0 else f"{n}_{step}", "type": TYPE + step}
        for n, step in enumerate(steps)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    settings = {"max_seq_length": limit, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))


LAYOUTS = {
    "mean": (["Transformer", "Pooling"], {"pooling_mode_mean_tokens": True}, 23),
    "mean of few": (["Transformer", "Pooling"], {"pooling_mode": "mean"}, 7),
    "first": (["Transformer", "Pooling", "Normalize"], {"pooling_mode_cls_token": True}, 23),
    "max": (["Transformer", "Pooling", "Normalize"], {"pooling_mode_max_tokens": True}, 11),
    "two": (
        ["Transformer", "Pooling"],
        {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
        23,
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_gives_their_vectors(name: str, folder: Path) -> None:
    steps, pooling, limit = LAYOUTS[name]
    write_layout(folder, steps, {"word_embedding_dimension": 20} | pooling, limit)
    model = load(folder, "cpu")
    theirs = library.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    ours = model.embed(TEXTS)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < 1e-5
    assert np.abs(model.embed(TEXTS[1]) - ours[1]).max() < 1e-5  # alone as among others


def test_without_a_layout_it_is_the_mean(folder: Path) -> None:
    (folder / "modules.json").unlink(missing_ok=True)
    assert read_pooling(folder) == Pooling()
    model = load(folder, "cpu")
    theirs = library.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert np.abs(model.embed(TEXTS) - theirs).max() < 1e-5


def test_threads_give_the_vectors_of_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches, so that each thread has several; the vectors stay in the texts' order."""
    model = load(folder, "cpu")
    texts = [" ".join(WORDS[5 + n % 6] for n in range(a, a + a % 9)) for a in range(60)]
    monkeypatch.setattr(embed, "TOKEN_BUDGET", 16)
    before = torch.get_num_threads()
    told: list[int] = []
    try:
        torch.set_num_threads(1)
        alone = model.embed(texts)
        torch.set_num_threads(3)
        shared = model.embed(texts, advance=told.append)
        assert torch.get_num_threads() == 3  # as it was found
    finally:
        torch.set_num_threads(before)
    assert np.abs(shared - alone).max() < 1e-6
    assert sum(told) == len(texts) and len(told) > 10


def test_changed_weights_give_other_vectors(folder: Path) -> None:
    model = load(folder, "cpu")
    before = model.embed(TEXTS)
    with torch.no_grad():
        model.transformer.encoder.layers[0].attention.query.weight.mul_(3)  # type: ignore[union-attr,index]
    after = model.embed(TEXTS)
    assert np.abs(after - before).max() > 1e-3
    fresh = embed.Embedder(model.transformer, model.tokenizer, read_pooling(folder))  # type: ignore[arg-type]
    assert np.array_equal(after, fresh(TEXTS))


def test_a_text_that_stands_twice_is_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(folder, "cpu")
    model.embed("a")
    packed = model.embedder._packed
    read: list[list[int]] = []
    monkeypatch.setattr(
        model.embedder,
        "_packed",
        lambda ids, lengths: read.append(lengths) or packed(ids, lengths),
    )
    told: list[int] = []
    vectors = model.embed(["the river", "a", "the  RIVER", "a"], advance=told.append)
    assert read == [[4, 3]] and sum(told) == 4
    assert np.array_equal(vectors[0], vectors[2]) and np.array_equal(vectors[1], vectors[3])
    assert not np.array_equal(vectors[0], vectors[1])


def test_many_texts_are_cut_as_each_by_itself(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    assert tokenizer is not None
    for limit in (None, 7, 3):
        one_by_one = [list(tokenizer.encode(text, limit=limit).ids) for text in TEXTS]
        assert tokenizer.encode_batch(TEXTS, limit) == one_by_one
    with pytest.raises(DataError, match="surrogate"):
        tokenizer.encode_batch(["a", "\ud800"])


def test_batches_have_a_budget_and_every_text_once() -> None:
    lengths = [3, 9, 0, 4, 4, 1, 1, 1, 20]
    batches = list(numbers_by_length(lengths, 8))
    assert batches == [[8], [1], [3, 4], [0, 5], [6, 7]]
    places = [len(numbers) * lengths[numbers[0]] for numbers in batches]
    assert max(places[2:]) <= 8  # one that is longer by itself is alone


REFUSED = {
    "Dense": (["Transformer", "Pooling", "Dense"], {"pooling_mode": "mean"}),
    "os.system": (["os.system"], {"pooling_mode": "mean"}),
    "lasttoken": (["Transformer", "Pooling"], {"pooling_mode_lasttoken": True}),
    "got the steps": (["Transformer"], {"pooling_mode": "mean"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_name(name: str, tmp_path: Path) -> None:
    write_layout(tmp_path, REFUSED[name][0], REFUSED[name][1], 23)
    with pytest.raises(CheckpointError, match=name.split(".")[-1]):
        read_pooling(tmp_path)


def test_a_step_may_not_lie_outside(tmp_path: Path) -> None:
    write_layout(tmp_path, ["Transformer", "Pooling"], {"pooling_mode": "mean"}, 23)
    path = tmp_path / "modules.json"
    path.write_text(path.read_text().replace("1_Pooling", "../1_Pooling"))
    with pytest.raises(CheckpointError, match="not a plain file name"):
        read_pooling(tmp_path)


def test_without_tokenizer_files_the_error_says_what_is_missing(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(DataError, match="vocab.txt"):
        load(tmp_path, "cpu").embed("a")
