"""The embedding starts from a file: which rows, at which size, once; and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

import toy
from halting import forget_steps
from regard.api.load import load
from regard.checkpoint.files import folder_name
from regard.errors import ConfigError, DataError
from regard.fit.static_vectors import fill_embedding
from regard.fit.train import Request, train
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.text.tokenizer import Tokenizer

TEXTS = [f"{a} {b}" for a, b in toy.pairs(300)]
# Two of the twelve words, and one that no text holds.
VECTORS = {"red": (3.0, 0.0, -4.0, 0.0), "Katze": (0.0, 1.0, 0.0, 0.0), "absent": (9.0, 9, 9, 9)}


def write(path: Path, vectors: dict[str, tuple[float, ...]]) -> Path:
    rows = (f"{word} {' '.join(map(str, row))}\n" for word, row in vectors.items())
    path.write_text("".join(rows), encoding="utf-8")
    return path


def model_of(tokenizer: Tokenizer, **changes: object) -> Transformer:
    return Transformer(preset("tiny", tokenizer.size, d_model=4, heads=2, **changes), seed=3)


def test_rows_of_known_words_are_the_files_and_the_rest_is_as_initialised(tmp_path: Path) -> None:
    # |(3, 0, -4, 0)| = √(9 + 16) = 5: red starts at (.6, 0, -.8, 0); |(0, 1, 0, 0)| = 1.
    # × √d_model = 2 a row of length 1 has length 2, so its 4 entries are of size 1: 2²/4 = 1.
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    model, untouched = model_of(tokenizer), model_of(tokenizer)
    coverage = fill_embedding(model, tokenizer, write(tmp_path / "v.vec", VECTORS))
    assert coverage.sentence() == f"2 of {tokenizer.size} entries start from v.vec"
    red, cat = tokenizer.encode("red Katze")
    weight, before = model.output.weight.detach(), untouched.output.weight.detach()
    assert weight[red].tolist() == pytest.approx([0.6, 0, -0.8, 0], abs=1e-6)
    assert weight[cat].tolist() == pytest.approx([0, 1, 0, 0], abs=1e-6)
    others = [i for i in range(tokenizer.size) if i not in (red, cat)]
    assert torch.equal(weight[others], before[others])
    assert model.source_embedding is not None
    assert model.source_embedding.weight is model.output.weight  # still tied
    ids = torch.tensor([[red, cat]])
    embedded = model.source_embedding.eval()(ids) - model.source_embedding.positions(2)
    assert float(embedded.detach().square().mean()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("tie", "set_in"), [("target", (1, 1, 1)), ("none", (1, 1, 0))])
def test_both_embeddings_start_and_an_untied_output_does_not(
    tie: str, set_in: tuple[int, ...], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    model = model_of(tokenizer, tie=tie)
    fill_embedding(model, tokenizer, write(tmp_path / "v.vec", VECTORS))
    [red] = tokenizer.encode("red")
    assert model.source_embedding is not None and model.target_embedding is not None
    parts = (model.source_embedding, model.target_embedding, model.output)
    got = [part.weight[red].tolist() for part in parts]
    expected = pytest.approx([0.6, 0, -0.8, 0], abs=1e-6)
    assert [int(row == expected) for row in got] == list(set_in)


def test_the_size_of_the_vectors_does_not_matter_and_their_angles_stay(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    vectors = {"red": (3.0, 0, -4, 0), "blue": (0.0, 1e-30, 1e-30, 0), "one": (5e19, 0, 0, 0)}
    model = model_of(tokenizer)
    assert fill_embedding(model, tokenizer, write(tmp_path / "v.vec", vectors)).found == 3
    red, blue, one = model.output.weight.detach()[tokenizer.encode("red blue one")]
    assert [float(row.norm()) for row in (red, blue, one)] == pytest.approx([1, 1, 1])
    # cos(red, blue) = -4/(5·√2) = -.56569;  cos(red, one) = 3/5
    assert [float(red @ blue), float(red @ one)] == pytest.approx([-0.56569, 0.6], abs=1e-5)


def test_a_vector_of_zeros_has_no_direction_and_is_left_out(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    model, untouched = model_of(tokenizer), model_of(tokenizer)
    path = write(tmp_path / "v.vec", {"red": (0.0, 0, 0, 0), "blue": (1.0, 0, 0, 0)})
    assert fill_embedding(model, tokenizer, path).found == 1
    [red] = tokenizer.encode("red")
    assert torch.equal(model.output.weight[red], untouched.output.weight[red])


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
def test_sub_words_start_only_where_they_are_whole_words(kind: str, tmp_path: Path) -> None:
    """The piece "▁red" is the word; "red", where there is such a piece, ends some other word."""
    texts = [*TEXTS, *["hundred tired bored"] * 200]
    tokenizer = Tokenizer.train(texts, kind, 330 if kind == "bytes" else 60)
    words, labels = tokenizer.whole_words(), tokenizer.pieces(range(tokenizer.size))
    assert words and all(labels[i] == f"▁{word}" for i, word in words.items())
    if kind == "bytes":
        assert "red" in words.values() and "red" in labels
    # what a unigram vocabulary holds differs a little each time
    word = "red" if kind == "bytes" else next(iter(words.values()))
    model, untouched = model_of(tokenizer), model_of(tokenizer)
    fill_embedding(model, tokenizer, write(tmp_path / "v.vec", {word: (1.0, 2, 3, 4)}))
    changed = (model.output.weight != untouched.output.weight).any(-1).nonzero().flatten()
    assert changed.tolist() == [labels.index(f"▁{word}")]


def test_special_tokens_are_no_words(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    assert not set(tokenizer.special.ids) & set(tokenizer.whole_words())
    assert len(tokenizer.whole_words()) == tokenizer.size - 4
    assert not Tokenizer.train(TEXTS, "characters", 100).whole_words()


def test_what_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, "words", 100)
    model = model_of(tokenizer)
    three = write(tmp_path / "three.vec", {"red": (1.0, 2, 3)})
    with pytest.raises(ConfigError, match=r"holds vectors of 3 numbers, model\.d_model is 4"):
        fill_embedding(model, tokenizer, three)
    with pytest.raises(DataError, match="for none of the .* whole words"):
        fill_embedding(model, tokenizer, write(tmp_path / "none.vec", {"absent": (1.0, 2, 3, 4)}))
    with pytest.raises(DataError, match="a vector other than zero"):
        fill_embedding(model, tokenizer, write(tmp_path / "zero.vec", {"red": (0.0, 0, 0, 0)}))


def random_vectors(path: Path) -> Path:
    rows = np.random.default_rng(1).standard_normal((len(toy.WORDS), 32))
    return write(path, {w: tuple(row) for w, row in zip(toy.WORDS, rows.tolist(), strict=True)})


def asked(tmp_path: Path, *extra: str) -> Request:
    source, target = toy.write(tmp_path, 200)
    changes = (
        *toy.SMALL,
        "tokenizer.kind=words",
        "train.steps=4",
        "train.validate_every=2",
        *extra,
    )
    return Request(source=source, target=target, assignments=changes, folder=tmp_path / "run")


@pytest.mark.end_to_end
def test_a_run_says_and_logs_what_it_started_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random_vectors(tmp_path / "v.vec")
    lines: list[str] = []
    train(asked(tmp_path, "train.embeddings=v.vec", "train.factor=0"), lines.append)
    # 12 English words, 12 German ones, 4 special tokens
    assert "Embedding:  12 of 28 entries start from v.vec" in lines
    run = RunFolder(tmp_path / "run")
    first = read_log(run.log)[0]
    assert first == {"kind": "embeddings", "step": 0, "found": 12, "entries": 28, "file": "v.vec"}
    # With a learning rate of zero the last weights are the first ones.
    loaded = load(run.folder)
    start = Transformer(loaded.transformer.spec, seed=1)
    fill_embedding(start, loaded.tokenizer, tmp_path / "v.vec")
    assert torch.equal(start.output.weight, loaded.transformer.output.weight)


@pytest.mark.end_to_end
def test_a_resumed_run_goes_on_from_its_checkpoint_not_from_the_file(tmp_path: Path) -> None:
    path = random_vectors(tmp_path / "v.vec")
    train(asked(tmp_path, f"train.embeddings={path}"), lambda line: None)
    run = RunFolder(tmp_path / "run")
    before = (run.checkpoints / folder_name(4) / "weights.safetensors").read_bytes()
    forget_steps(run)  # it begins again
    train(Request(resume=run.folder), lambda line: None)
    assert (run.checkpoints / folder_name(4) / "weights.safetensors").read_bytes() == before
    path.unlink()  # from here on it is not needed
    train(Request(resume=run.folder, assignments=["train.steps=6"]), lambda line: None)
    assert (run.checkpoints / folder_name(4) / "weights.safetensors").read_bytes() == before
    assert [r["kind"] for r in read_log(run.log)].count("embeddings") == 1


@pytest.mark.end_to_end
def test_a_file_of_another_size_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = write(tmp_path / "v.vec", VECTORS)
    with pytest.raises(ConfigError, match=r"4 numbers, model\.d_model is 32.*model\.d_model=4"):
        train(asked(tmp_path, f"train.embeddings={path}"), lambda line: None)
    assert not (tmp_path / "run").exists()
