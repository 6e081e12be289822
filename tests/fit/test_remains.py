"""Runs whose checkpoints are gone or broken: not begun again in silence, used as far as may be."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from halting import ask, go, go_with_halts
from regard.api.load import load
from regard.checkpoint.files import steps_saved
from regard.errors import CheckpointError
from regard.fit.remains import steps_behind
from regard.fit.train import Request, train
from regard.runs.folder import RunFolder, typed, write_own_json

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def run(toy_run: Path, tmp_path: Path) -> RunFolder:
    """A finished run of one's own."""
    return RunFolder(Path(shutil.copytree(toy_run, tmp_path / "run")))


def files(run: RunFolder) -> dict[str, bytes]:
    """All that a run holds, but for its lock."""
    paths = (path for path in run.folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(run.folder)): path.read_bytes() for path in paths}


def take_away(run: RunFolder) -> None:
    shutil.rmtree(run.checkpoints)


def empty(run: RunFolder) -> None:
    take_away(run)
    run.checkpoints.mkdir()


def put_all_aside(run: RunFolder) -> None:
    for step in run.checkpoints.iterdir():
        step.rename(run.checkpoints / f"damaged-{step.name}")


def leave_halves(run: RunFolder) -> None:
    for step in run.checkpoints.iterdir():
        step.rename(run.checkpoints / f".tmp-{step.name}-77")


def a_file(run: RunFolder) -> None:
    take_away(run)
    run.checkpoints.write_text("moved to the other disk")


def break_all(run: RunFolder) -> None:
    for step in run.checkpoints.iterdir():
        data = bytearray((step / "weights.safetensors").read_bytes())
        data[random.randrange(len(data))] ^= 1
        (step / "weights.safetensors").write_bytes(data)


def empty_all(run: RunFolder) -> None:
    for step in list(run.checkpoints.iterdir()):
        shutil.rmtree(step)
        step.mkdir()


GONE = [take_away, empty, put_all_aside, leave_halves, a_file]
BROKEN = [break_all, empty_all]


@pytest.mark.parametrize("state", ["finished", "stopped", "training"])
@pytest.mark.parametrize("lose", [*GONE, *BROKEN], ids=lambda lose: lose.__name__)
def test_a_run_without_a_checkpoint_is_refused_and_its_final_weights_are_used(
    run: RunFolder, lose: Callable[[RunFolder], None], state: str
) -> None:
    expected = dict(load(run.folder, "cpu").transformer.named_parameters())
    lose(run)
    run.update_info(state=state)
    before = files(run)
    for more in ((), ("train.steps=60",)):
        with pytest.raises(CheckpointError) as error:
            train(Request(resume=run.folder, assignments=more), lambda line: None)
        said = str(error.value)
        assert str(run.checkpoints) in said and "nothing was changed" in said
        assert f"train.start_from={run.folder}" in said and f"regard translate {run.folder}" in said
    after = files(run)
    assert {**before, **after} == before  # what a crash left half may be swept away
    assert not [name for name in before if name not in after and ".tmp-" not in name]
    weights = dict(load(run.folder, "cpu").transformer.named_parameters())
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_without_final_weights_it_says_what_is_left(run: RunFolder) -> None:
    take_away(run)
    run.weights.unlink()
    with pytest.raises(CheckpointError) as error:
        train(Request(resume=run.folder), lambda line: None)
    said = str(error.value)
    assert "has 30 steps behind it" in said and "start_from" not in said
    assert "Copy the checkpoints back" in said and "regard train --source" in said
    run.weights.write_bytes(b"half")  # and those that are no weights are no help either
    with pytest.raises(CheckpointError, match="Copy the checkpoints back"):
        train(Request(resume=run.folder), lambda line: None)
    with pytest.raises(CheckpointError, match="differs from its checksum; copy the run again"):
        load(run.folder)


def test_a_new_run_begins_with_what_is_left(run: RunFolder, tmp_path: Path) -> None:
    take_away(run)
    lines = go(ask(tmp_path / "new", f"train.start_from={run.folder}", steps=4))
    assert any(line.startswith("Final weights") for line in lines)


@pytest.mark.parametrize("step", [3, 8])
def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """After a step that was logged; after the first validation, before it was saved."""
    request = ask(tmp_path, steps=12)
    go_with_halts(request, [step], monkeypatch)
    run = RunFolder(tmp_path / "run")
    straight = run.weights.read_bytes()
    killed = RunFolder(tmp_path / "killed")
    shutil.copytree(run.folder, killed.folder)
    shutil.rmtree(killed.checkpoints)
    for path in (killed.weights, killed.weights_info):
        path.unlink()
    records = [json.loads(line) for line in run.log.read_text().splitlines()]
    kept = [r for r in records if r["step"] <= step and (r["kind"] == "train" or step == 8)]
    killed.log.write_text("".join(json.dumps(r) + "\n" for r in kept))
    info = {k: v for k, v in run.read_info().items() if k not in ("step", "best_step", "ended")}
    write_own_json(killed.info, info | {"state": "training"})
    assert steps_behind(killed) == 0
    train(Request(resume=killed.folder), lambda line: None)
    assert killed.weights.read_bytes() == straight
    assert steps_saved(killed.checkpoints) == steps_saved(run.checkpoints)


def test_the_log_tells_of_checkpoints_that_run_json_forgot(run: RunFolder) -> None:
    """The disk was full when run.json was due, and somebody made room where there was most."""
    take_away(run)
    run.weights.unlink()
    info = {k: v for k, v in run.read_info().items() if k not in ("step", "best_step")}
    write_own_json(run.info, info | {"state": "training"})
    assert steps_behind(run) == 30
    before = run.log.read_bytes()
    with pytest.raises(CheckpointError, match="has 30 steps behind it"):
        train(Request(resume=run.folder), lambda line: None)
    assert run.log.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="its shells quote otherwise")
def test_a_command_can_be_pasted() -> None:
    assert typed(Path("runs/demo")) == "runs/demo"
    assert typed(Path("my runs/it's")) == "'my runs/it'\"'\"'s'"
