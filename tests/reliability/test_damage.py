"""A byte that flips in any file of the last checkpoint is found, and the one before is taken."""

import random
import shutil
from pathlib import Path

import pytest
import torch

from regard.api.load import load
from regard.checkpoint.files import steps_saved
from regard.checkpoint.training_state import load_checkpoint, load_weights, newest_whole
from regard.errors import CheckpointError, DataError
from regard.runs.folder import RunFolder
from reliability import toys
from reliability.forks import Trainings

FILES = ("weights.safetensors", "optimizer.safetensors", "state.json", "manifest.json")
FLIPS = 100


def flip(file: Path, chance: random.Random) -> bytes:
    """One byte becomes another one."""
    data = bytearray(file.read_bytes())
    data[chance.randrange(len(data))] ^= chance.randint(1, 255)
    file.write_bytes(data)
    return bytes(data)


def test_a_hundred_flips_are_found_and_fallen_back_from(
    toy_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = dict(load(toy_run, "cpu", engine="torch").transformer.named_parameters())
    steps = steps_saved(toy_run / "checkpoints")
    before = load_checkpoint(toy_run / "checkpoints", steps[-2], expected)
    chance, found = random.Random(7), 0
    for i in range(FLIPS):
        root = tmp_path / str(i)
        shutil.copytree(toy_run / "checkpoints", root)
        name = FILES[i % len(FILES)]
        damaged = flip(root / f"step-{steps[-1]:08d}" / name, chance)
        said: list[str] = []
        taken = newest_whole(root, steps_saved(root), expected, said.append)
        assert taken is not None and taken[0] == steps[-2], name
        assert all(torch.equal(taken[1].weights[n], w) for n, w in before.weights.items())
        aside = root / f"damaged-step-{steps[-1]:08d}"
        assert name in said[0] and str(aside) in said[1] and f"step {steps[-2]}" in said[1]
        assert (aside / name).read_bytes() == damaged  # nothing is deleted
        assert steps_saved(root) == steps[:-1]
        found += 1
        shutil.rmtree(root)
    with capsys.disabled():
        print(f"\nflipped bytes: {found} of {FLIPS} found, all fallen back from")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_damage_too(toy_run: Path, tmp_path: Path, name: str) -> None:
    root = tmp_path / "checkpoints"
    shutil.copytree(toy_run / "checkpoints", root)
    expected = dict(load(toy_run, "cpu", engine="torch").transformer.named_parameters())
    last, before = steps_saved(root)[-1], steps_saved(root)[-2]
    (root / f"step-{last:08d}" / name).unlink()
    taken = newest_whole(root, steps_saved(root), expected, lambda line: None)
    assert taken is not None and taken[0] == before


def test_if_none_is_whole_nothing_is_touched(toy_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "checkpoints"
    shutil.copytree(toy_run / "checkpoints", root)
    expected = dict(load(toy_run, "cpu", engine="torch").transformer.named_parameters())
    names = sorted(path.name for path in root.iterdir())
    for step in steps_saved(root):
        flip(root / f"step-{step:08d}" / "state.json", random.Random(step))
    with pytest.raises(CheckpointError, match="none of the 3 checkpoints is whole"):
        newest_whole(root, steps_saved(root), expected, lambda line: None)
    assert sorted(path.name for path in root.iterdir()) == names


def test_another_format_is_not_damage(toy_run: Path, tmp_path: Path) -> None:
    """A checkpoint of a later regard is not renamed by this one."""
    import hashlib
    import json

    root = tmp_path / "checkpoints"
    shutil.copytree(toy_run / "checkpoints", root)
    expected = dict(load(toy_run, "cpu", engine="torch").transformer.named_parameters())
    file = root / f"step-{steps_saved(root)[-1]:08d}" / "manifest.json"
    stated = json.loads(file.read_text()) | {"format": 2}
    del stated["manifest"]
    own = hashlib.sha256((json.dumps(stated, indent=2) + "\n").encode()).hexdigest()
    file.write_text(json.dumps(stated | {"manifest": own}, indent=2) + "\n")
    with pytest.raises(CheckpointError, match="of format 2"):
        newest_whole(root, steps_saved(root), expected, lambda line: None)
    assert file.exists()


@pytest.mark.end_to_end
def test_a_resumed_run_says_so_and_ends_with_the_same_bits(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    child = trainings.start(*toys.new(tmp_path), gate_at=["step"])
    for word in child.words():
        if word == f"step {3 * toys.EVERY + 2}":
            child.kill()
            break
    assert child.wait().code == -9
    last = tmp_path / f"run/checkpoints/step-{3 * toys.EVERY:08d}"
    flip(last / "optimizer.safetensors", random.Random())
    done = trainings.run(*toys.again(tmp_path))
    assert done.code == 0, done.output
    assert f"Warning: {last / 'optimizer.safetensors'}: differs from its checksum" in done.output
    assert f"Resuming {tmp_path / 'run'} after step {2 * toys.EVERY}." in done.output
    assert (last.parent / f"damaged-{last.name}").is_dir()
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def unfinished(toy_run: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(toy_run, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    run.update_info(state="training")
    return run


def test_translating_falls_back_too(
    toy_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unfinished(toy_run, tmp_path)
    best = run.read_info()["best_step"]
    flip(run.checkpoints / f"step-{best:08d}" / "weights.safetensors", random.Random())
    got = dict(load(run.folder, device="cpu").transformer.named_parameters())
    other = [step for step in steps_saved(run.checkpoints) if step != best][-1]
    expected = load_weights(run.checkpoints, other, got)
    assert all(torch.equal(got[name], expected[name]) for name in expected)
    warned = capsys.readouterr().err
    assert "differs from its checksum" in warned and f"step {other} instead" in warned
    assert (run.checkpoints / f"step-{best:08d}").is_dir()  # reading renames nothing


def test_damaged_training_data_is_not_trained_on(toy_run: Path, tmp_path: Path) -> None:
    from regard.fit.train import Request, train

    run = unfinished(toy_run, tmp_path)
    flip(run.data / "train/target.npy", random.Random(3))
    with pytest.raises(DataError):
        train(Request(resume=run.folder), lambda line: None)


@pytest.mark.end_to_end
def test_final_weights_are_made_again(toy_run: Path, tmp_path: Path) -> None:
    from regard.fit.train import Request, train

    shutil.copytree(toy_run, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    whole = run.weights.read_bytes()
    flip(run.weights, random.Random())
    with pytest.raises(CheckpointError, match="regard train --resume"):
        load(run.folder)
    train(Request(resume=run.folder), lambda line: None)
    assert run.weights.read_bytes() == whole
