"""A run that begins with the weights of another: what is taken, what is said, what stays frozen."""

from pathlib import Path

import pytest
import torch

import toy
from halting import ask, digest, go, go_with_halts
from regard.api.load import load
from regard.checkpoint.files import read_own_json
from regard.checkpoint.training_state import load_weights
from regard.errors import CheckpointError, ConfigError, MisuseError
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.fit.trainer import Trainer
from regard.fit.warm_start import take_weights
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end


def weights(run: Path) -> dict[str, torch.Tensor]:
    return dict(load(run, "cpu", engine="torch").transformer.named_parameters())


def test_everything_fits_and_the_vocabulary_is_taken_over(tmp_path: Path, toy_run: Path) -> None:
    """Other data and another tokenizer.size: the pieces are those of the run all the same."""
    keys = (f"train.start_from={toy_run}", "tokenizer.size=300", "train.rate=0.0")
    lines = go(ask(tmp_path, *keys, "train.schedule=constant", steps=2, pairs=120))
    run = RunFolder(tmp_path / "run")
    assert run.tokenizer.read_bytes() == RunFolder(toy_run).tokenizer.read_bytes()
    total = len(weights(toy_run))
    assert f"Start:      {total} of {total} weights from {toy_run}" in lines
    got, expected = weights(run.folder), weights(toy_run)
    assert all(torch.equal(got[name], expected[name]) for name in expected)  # a rate of 0


def test_only_what_fits_is_taken_and_told(tmp_path: Path, toy_run: Path) -> None:
    keys = (f"train.start_from={toy_run}", "model.decoder_layers=2", "train.rate=0.0")
    keys += ("train.schedule=constant", "model.heads=4")
    text = "\n".join(go(ask(tmp_path, *keys, steps=2)))
    assert "from chance: decoder.layers.1;" in text
    assert "careful, the model is not the same: decoder_layers 2 (there 1), heads 4" in text
    got, expected = weights(tmp_path / "run"), weights(toy_run)
    assert all(torch.equal(got[name], expected[name]) for name in expected)
    assert set(got) - set(expected) == {n for n in got if n.startswith("decoder.layers.1.")}


def test_without_a_recipe_the_model_is_that_of_the_run(tmp_path: Path, toy_run: Path) -> None:
    source, target = toy.write(tmp_path, 100)
    small = [a for a in toy.SMALL if not a.startswith("model.")]
    changes = (*small, "train.steps=2", "train.validate_every=2", f"train.start_from={toy_run}")
    go(Request(source=source, target=target, assignments=changes, folder=tmp_path / "run"))
    sizes = [read_own_json(RunFolder(run).spec) for run in (tmp_path / "run", toy_run)]
    assert sizes[0] == sizes[1]


def test_nothing_fits(tmp_path: Path, toy_run: Path) -> None:
    request = ask(tmp_path, f"train.start_from={toy_run}", "model.d_model=64", "model.ffn_size=16")
    with pytest.raises(ConfigError, match=r"no weight of .*: .*d_model 64 \(there 32\)"):
        go(request)
    assert not (tmp_path / "run").exists()


def test_a_wrong_folder_is_told(tmp_path: Path, toy_run: Path) -> None:
    with pytest.raises(MisuseError, match="no such folder; here are .*run"):
        go(ask(tmp_path, f"train.start_from={toy_run.parent / 'rum'}"))
    with pytest.raises(ConfigError, match='train.freeze: .*did you mean "encoder"'):
        go(ask(tmp_path, 'train.freeze=["encodr"]'))
    with pytest.raises(ConfigError, match="choose one"):
        make_recipe(
            {"data": {"phrasebook": "de"}, "train": {"embeddings": "a", "start_from": "b"}}, "r"
        )


def test_frozen_parts_stay_and_resume_is_exact(
    tmp_path: Path, toy_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a moving average, which is kept in checkpoints too."""
    keys = (f"train.start_from={toy_run}", 'train.freeze=["encoder", "source_embedding"]')
    keys += ("train.ema=0.9", "train.schedule=constant", "train.rate=0.01", "train.warmup=1")
    lines = go(ask(tmp_path / "straight", *keys, steps=24))
    straight = tmp_path / "straight/run"
    assert any(line.startswith("Frozen:") for line in lines)
    got, began = weights(straight), weights(toy_run)
    frozen = {n for n in got if n.startswith(("encoder.", "source_emb", "target_emb"))}
    assert {n for n in got if torch.equal(got[n], began[n])} == frozen
    go_with_halts(ask(tmp_path / "halted", *keys, steps=24), [3, 11, 20], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(straight)


def test_a_changed_start_is_not_taken_up_silently(tmp_path: Path, toy_run: Path) -> None:
    """Killed before its first checkpoint, a run begins again: from the same weights only."""
    go(ask(tmp_path / "first", steps=2))
    first = RunFolder(tmp_path / "first/run")
    go(ask(tmp_path / "second", f"train.start_from={first.folder}", steps=2))
    second = RunFolder(tmp_path / "second/run")
    for step in list(second.checkpoints.iterdir()):
        for file in step.iterdir():
            file.unlink()
        step.rmdir()
    recipe = make_recipe(read_own_json(second.recipe), "recipe")
    trainer = Trainer(second, recipe, code_of(recipe).load(second, recipe))
    trainer.resume(print)
    model = Transformer(trainer.model.spec, seed=recipe.train.seed)
    take_weights(model, first.folder)
    mine = dict(trainer.model.named_parameters())
    assert all(torch.equal(w, mine[name]) for name, w in model.named_parameters())
    first.update_info(state="training")  # now its best checkpoint is what it gives
    best = load_weights(first.checkpoints, 2, mine)
    if all(torch.equal(best[name], mine[name]) for name in best):
        go(Request(resume=first.folder, assignments=["train.steps=4"]))
    with pytest.raises(CheckpointError, match="not those that this run began with"):
        Trainer(second, recipe, code_of(recipe).load(second, recipe)).resume(print)
