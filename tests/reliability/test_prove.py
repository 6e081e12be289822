"""`regard train --prove-resume`: proves, and can fail to."""

import subprocess
import sys
from pathlib import Path

import pytest

import toy
from regard.checkpoint.files import read_own_json
from regard.errors import MisuseError, TrainingError
from regard.fit import prove as proving
from regard.fit.prove import Proof, prove
from regard.fit.train import Request
from regard.runs.folder import RunFolder, write_own_json

pytestmark = pytest.mark.end_to_end


@pytest.mark.long
def test_the_command_proves_a_users_own_files(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    asked = ["--source", str(source), "--target", str(target), "--prove-resume", *toy.SMALL]
    command = [sys.executable, "-m", "regard", "train", *asked, "train.steps=30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "A short run: 30 steps, a checkpoint every 6" in done.stdout
    assert "Proved: killed " in done.stdout and "SIGKILL after step" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.endswith(" same")]
    assert [row.split("  ")[0] for row in rows] == ["weights", "optimizer", "final weights", "log"]
    for row in rows:
        *_, one, other, _ = row.split()
        assert one == other and len(one) == 16
    assert not (tmp_path / "runs").exists()


def test_other_bits_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The killed run learns from another loss: the proof must fail."""
    copy = proving._copy_start

    def other_loss(straight: RunFolder, killed: RunFolder) -> None:
        copy(straight, killed)
        recipe = read_own_json(killed.recipe)
        assert recipe["train"]["label_smoothing"] == 0.1
        recipe["train"]["label_smoothing"] = 0.2
        write_own_json(killed.recipe, recipe)

    monkeypatch.setattr(proving, "_copy_start", other_loss)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source, target = toy.write(tmp_path, 200)
    said: list[str] = []
    proof = prove(Request(source=source, target=target, assignments=toy.SMALL), said.append)
    assert not proof.holds and proof.sums["weights"][0] != proof.sums["weights"][1]
    assert "NOT the same" in proof.lines()[-1]
    (kept,) = tmp_path.glob("regard-prove-*")
    assert str(kept) in said[-1] and (kept / "killed/model.safetensors").exists()


def test_without_a_kill_nothing_is_proved() -> None:
    proof = Proof(30, [], {"weights": ("a", "a")})
    assert not proof.holds and proof.lines()[-1].startswith("Not proved")


def test_misuse_and_a_recipe_that_cannot_train(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="--prove-resume takes"):
        prove(Request(resume=tmp_path), lambda line: None)
    with pytest.raises(TrainingError, match="no such recipe"):
        prove(Request(recipe=tmp_path / "none.toml"), lambda line: None)
