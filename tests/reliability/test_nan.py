"""A loss or gradient that is no number: the step is skipped and told; ten in a row end the run."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

import toy
from regard.checkpoint.files import steps_saved
from regard.checkpoint.training_state import verify
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from reliability import toys
from reliability.forks import Trainings

pytestmark = pytest.mark.end_to_end


def test_steps_are_skipped_logged_and_seen(trainings: Trainings, tmp_path: Path) -> None:
    seen = tmp_path / "examples"
    done = trainings.run(*toys.new(tmp_path), nan=[5, 6, 20], infinite=[9], examples=str(seen))
    assert done.code == 0, done.output
    run = RunFolder(tmp_path / "run")
    skipped = [r for r in read_log(run.log) if r["kind"] == "skipped"]
    assert [r["step"] for r in skipped] == [5, 6, 9, 20]
    assert [r["loss"] for r in skipped if r["step"] != 9] == ["nan"] * 3
    assert skipped[2]["gradient_norm"] == "inf" and isinstance(skipped[2]["loss"], float)
    used = toys.examples(seen)
    for record in skipped:
        assert tuple(record["examples"]) == used[record["step"]][0]
        assert f"step {record['step']}: skipped, " in done.output
    trained = [r["step"] for r in read_log(run.log) if r["kind"] == "train"]
    assert trained == [1, 10, 30, 40, 50, 60]  # step 20 has the other record
    text = run.log.read_text()
    assert "NaN" not in text and "Infinity" not in text  # JSON has neither


def test_a_skipped_step_changes_no_weight(trainings: Trainings, tmp_path: Path) -> None:
    """If every step is skipped, the first checkpoint holds the weights of the beginning."""
    every = [s for s in range(1, 61) if s % 10]  # never ten in a row
    changes = ("train.validate_every=9", "train.steps=9")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = trainings.run(*toys.new(tmp_path / "a", *changes), nan=every)
    two = trainings.run(*toys.new(tmp_path / "b", *changes, "train.factor=0"))
    assert one.code == two.code == 0, one.output + two.output
    assert toys.digest(tmp_path / "a", 9)["weights"] == toys.digest(tmp_path / "b", 9)["weights"]


@pytest.mark.long
def test_kills_and_skips_together_change_no_bit(trainings: Trainings, tmp_path: Path) -> None:
    nan = [3, 8, 9, 10, 22, 23, 24, 25, 37, 59]
    for name in ("straight", "killed"):
        (tmp_path / name).mkdir()
    done = trainings.run(*toys.new(tmp_path / "straight"), nan=nan)
    assert done.code == 0, done.output
    arguments = toys.new(tmp_path / "killed")
    for step in (10, 24, 25, 60):
        child = trainings.start(*arguments, nan=nan, gate_at=["step"])
        for word in child.words():
            if word == f"step {step}":
                child.kill()
                break
        assert child.wait().code == -9
        arguments = toys.again(tmp_path / "killed")
    assert trainings.run(*arguments, nan=nan).code == 0
    assert toys.digest(tmp_path / "killed") == toys.digest(tmp_path / "straight")


def test_ten_in_a_row_stop_with_3_and_a_dump(trainings: Trainings, tmp_path: Path) -> None:
    seen = tmp_path / "examples"
    bad = list(range(30, 40))
    done = trainings.run(*toys.new(tmp_path), nan=bad, examples=str(seen))
    assert done.code == 3, done.output
    assert "step 39: 10 steps in a row were skipped, at last because the loss is nan" in done.output
    run = RunFolder(tmp_path / "run")
    assert run.read_info()["state"] == "failed"
    last = steps_saved(run.checkpoints)[-1]
    assert last == 35
    verify(run.checkpoints / f"step-{last:08d}")
    dump = run.folder / "dump-step-00000039"
    facts = json.loads((dump / "batch.json").read_text(encoding="utf-8"))
    numbers = [row["example"] for row in facts["examples"]]
    assert tuple(numbers) == toys.examples(seen)[39][0] and facts["loss"] == "nan"
    known = set(toy.pairs(400))
    assert {(row["source"], row["target"]) for row in facts["examples"]} <= known
    tensors = load_file(dump / "batch.safetensors")
    assert len(tensors["0.source"]) == len(numbers)
    assert set(tensors) == {
        f"0.{n}" for n in ("source", "source_real", "target_in", "target_out", "target_real")
    }


def test_nine_in_a_row_go_on(trainings: Trainings, tmp_path: Path) -> None:
    done = trainings.run(*toys.new(tmp_path), nan=list(range(30, 39)))
    assert done.code == 0, done.output


def test_a_rate_out_of_all_bounds_ends_by_itself(trainings: Trainings, tmp_path: Path) -> None:
    """No injection: the weights overflow after the first step, so every loss after it is NaN."""
    changes = ("train.factor=1e40", "train.warmup=1", "train.clip=0", "train.validate_every=5")
    done = trainings.run(*toys.new(tmp_path, *changes))
    assert done.code == 3, done.output
    assert "ERROR: step 5: the checkpoint could not be written" in done.output
    assert "NaN or infinity" in done.output
    assert steps_saved(tmp_path / "run/checkpoints") == []
