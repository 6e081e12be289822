"""Training end to end on a toy language: it learns, stops when it should, keeps what it made."""

import json
from pathlib import Path

import pytest
import torch

import toy
from refusals import refused
from regard.api.load import load
from regard.bundle.open_run import open_run
from regard.checkpoint.files import read_own_json, steps_saved
from regard.checkpoint.training_state import load_weights
from regard.errors import CheckpointError, ConfigError, DataError, MisuseError
from regard.fit.claim import free_folder
from regard.fit.train import Request, train
from regard.runs.folder import RunFolder, only_one, write_own_json
from regard.runs.log import read_log

pytestmark = pytest.mark.end_to_end


def request(tmp_path: Path, *extra: str, pairs: int = 300) -> Request:
    source, target = toy.write(tmp_path, pairs)
    changes = (*toy.SMALL, "train.steps=40", "train.validate_every=20", *extra)
    return Request(source=source, target=target, assignments=changes, folder=tmp_path / "run")


def said(asked: Request) -> list[str]:
    lines: list[str] = []
    train(asked, lines.append)
    return lines


def test_a_run_holds_everything(tmp_path: Path) -> None:
    lines = said(request(tmp_path))
    run = RunFolder(tmp_path / "run")
    assert run.read_info()["state"] == "finished" and run.read_info()["compute"]["threads"] == 1
    assert steps_saved(run.checkpoints) == [20, 40]
    for path in (run.weights, run.recipe, run.spec, run.tokenizer, run.log, run.loss_curve):
        assert path.stat().st_size > 0, path
    assert any(run.tensorboard.iterdir())
    records = read_log(run.log)
    assert [r["step"] for r in records if r["kind"] == "validation"] == [20, 40]
    trained = [r for r in records if r["kind"] == "train"]
    assert [r["step"] for r in trained] == [1, 10, 20, 30, 40]
    assert 0 <= trained[-1]["padding"] < 0.5
    text = "\n".join(lines)
    for expected in ("pairs to train on", "held out", "320 pieces", "all 40 steps are done"):
        assert expected in text


def test_it_learns_the_toy_language(tmp_path: Path) -> None:
    """A few hundred steps of a small model: most unseen sentences come out right."""
    job = request(
        tmp_path, "train.steps=400", "train.validate_every=200", "train.warmup=60",
        "train.factor=0.3", "model.dropout=0.0", "model.norm_order=pre",
        "train.token_budget=1024", pairs=1500,
    )  # fmt: skip
    said(job)
    model = load(tmp_path / "run", device="cpu")
    seen = {s for s, _ in toy.pairs(1500)}
    unseen = [(s, t) for s, t in toy.pairs(300, seed=2) if s not in seen][:50]
    outputs = model.translate([s for s, _ in unseen])
    right = sum(o == t for o, (_, t) in zip(outputs, unseen, strict=True))
    assert len(unseen) == 50 and right >= 40
    assert model.translate("red cat", beam=1) == "rot Katze"


def test_early_stopping(tmp_path: Path) -> None:
    """With a rate of almost zero nothing improves for long: patience ends the run."""
    job = request(
        tmp_path, "train.steps=4000", "train.validate_every=2", "train.patience=2",
        "train.factor=1e-12", "train.bleu_sentences=0", "model.dropout=0.0",
    )  # fmt: skip
    lines = said(job)
    assert "Training ended: the last 2 validations brought no better loss." in lines
    ended = RunFolder(tmp_path / "run").read_info()["step"]
    said(Request(resume=tmp_path / "run"))
    assert RunFolder(tmp_path / "run").read_info()["step"] == ended


def test_minutes_end_a_run(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 100)
    job = Request(
        source=source, target=target, minutes=0.02, assignments=toy.SMALL, folder=tmp_path / "r"
    )
    lines = said(job)
    assert any("0.02 minutes are over" in line for line in lines)


def test_bad_lines_are_told_and_left_out(tmp_path: Path) -> None:
    job = request(tmp_path)
    assert job.source is not None
    lines = job.source.read_bytes().split(b"\n")
    lines[4], lines[9], lines[11] = b"\xff\xfe broken", b"", b"nul \x00"
    job.source.write_bytes(b"\n".join(lines))
    text = "\n".join(said(job))
    assert "300 lines read, 297 kept, 3 left out." in text
    for expected in (
        "invalid UTF-8: 1 line (5)",
        "empty side: 1 line (10)",
        "NUL character: 1 line",
    ):
        assert expected in text


def test_mostly_bad_files_are_refused(tmp_path: Path) -> None:
    job = request(tmp_path)
    assert job.source is not None
    job.source.write_text("\n" * 200 + "word\n" * 100)
    with pytest.raises(DataError, match="more than half"):
        said(job)


def test_a_taken_folder_is_not_overwritten(tmp_path: Path) -> None:
    said(request(tmp_path))
    with pytest.raises(MisuseError, match="already there; continue it with"):
        said(request(tmp_path))
    assert free_folder(tmp_path, "run") == tmp_path / "run-2"


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    said(request(tmp_path))
    run = open_run(tmp_path / "run")
    with only_one(run), pytest.raises(MisuseError, match="another process is training this run"):
        said(Request(resume=run.folder))
    said(Request(resume=run.folder))


def test_a_failed_start_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(DataError, match="1 pair: too few"):
        said(request(tmp_path, pairs=1))
    with pytest.raises(MisuseError, match="vocabulary of 10 is too small"):
        said(request(tmp_path, "tokenizer.size=10"))
    assert list((tmp_path / "run").iterdir()) == []
    said(request(tmp_path))


def test_neither_or_both_of_recipe_and_files(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="either a recipe"):
        said(Request())
    with pytest.raises(MisuseError, match="either a recipe"):
        said(Request(recipe=tmp_path / "r.toml", source=tmp_path / "a"))


def test_a_recipe_with_files_and_a_validation_set(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    valid = tmp_path / "valid.tsv"
    valid.write_text("".join(f"{s}\t{t}\n" for s, t in toy.pairs(20, seed=9)), encoding="utf-8")
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        f'[data]\nsource = "{source}"\ntarget = "{target}"\nvalid_source = "{valid}"\n'
        '[tokenizer]\nkind = "words"\nsize = 100\n[train]\nsteps = 4\nvalidate_every = 4\n'
    )
    small = tuple(a for a in toy.SMALL if not a.startswith("tokenizer"))
    lines = said(Request(recipe=recipe, assignments=small, folder=tmp_path / "run"))
    assert any("200 pairs to train on, 20 held out" in line for line in lines)
    assert load(tmp_path / "run").tokenizer.kind == "words"


def test_resume_takes_only_what_it_may(tmp_path: Path) -> None:
    said(request(tmp_path))
    folder = tmp_path / "run"
    with pytest.raises(ConfigError, match="goes on as it was"):
        said(Request(resume=folder, assignments=["model.heads=1"]))
    with pytest.raises(MisuseError, match="leave the rest out"):
        said(Request(resume=folder, recipe=tmp_path / "x.toml"))
    lines = said(Request(resume=folder, assignments=["train.steps=60"]))
    assert lines[0] == f"Resuming {folder} after step 40."
    assert open_run(folder).read_info()["step"] == 60
    assert json.loads(RunFolder(folder).recipe.read_text())["train"]["steps"] == 60
    assert "all 60 steps are done" in "".join(said(Request(resume=folder)))
    more = said(Request(resume=folder, minutes=1, assignments=["train.steps=70"]))
    assert "all 70 steps are done" in "".join(more)
    assert more[1].startswith("1 more minute: until 1.") and "in all" in more[1]


def test_an_end_that_is_passed_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    said(request(tmp_path))
    run = RunFolder(tmp_path / "run")
    before = run.recipe.read_bytes()
    with refused(MisuseError, subject="train.steps", got=10, problem="has made 40 steps"):
        said(Request(resume=run.folder, assignments=["train.steps=10"]))
    with refused(MisuseError, subject="train.minutes", got=1e-05, expected="more, all together"):
        said(Request(resume=run.folder, assignments=["train.minutes=0.00001"]))
    assert run.recipe.read_bytes() == before
    assert "all 40 steps are done" in "".join(said(Request(resume=run.folder)))


def test_a_run_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    said(request(tmp_path))
    run = RunFolder(tmp_path / "run")
    write_own_json(run.spec, {**read_own_json(run.spec), "vocabulary": 321})
    with pytest.raises(CheckpointError, match="holds 320 pieces, the spec 321"):
        load(run.folder)


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    said(request(tmp_path))
    run = RunFolder(tmp_path / "run")
    data = bytearray(run.weights.read_bytes())
    data[-1] ^= 1
    run.weights.write_bytes(data)
    with pytest.raises(CheckpointError, match="differs from its checksum"):
        load(run.folder)


def test_a_run_that_is_not_finished_gives_its_best_checkpoint(tmp_path: Path) -> None:
    """As after a crash while the final weights were written, or while it trains on."""
    said(request(tmp_path))
    run = RunFolder(tmp_path / "run")
    best = run.read_info()["best_step"]
    run.weights.write_bytes(b"half")
    run.update_info(state="training")
    got = dict(load(run.folder).transformer.named_parameters())
    expected = load_weights(run.checkpoints, best, got)
    assert all(torch.equal(got[name], expected[name]) for name in expected)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="no such folder"):
        open_run(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"no run\.json"):
        open_run(tmp_path / "empty")
