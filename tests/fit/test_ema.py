"""The moving average in a training: in checkpoints, exact on resume, a candidate at the end."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from halting import ask, digest, go, go_with_halts
from regard.checkpoint.files import folder_name
from regard.errors import ConfigError
from regard.fit.objectives.translate import Validation
from regard.runs.folder import RunFolder
from regard.runs.sections import TrainSection

pytestmark = pytest.mark.end_to_end

KEYS = ("train.ema=0.8", "train.schedule=constant", "train.rate=0.02", "train.warmup=1")


def test_it_can_become_the_final_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that fall from one validation to the next: the candidate that is asked last wins."""
    losses = iter(range(9, 0, -1))

    def better_each_time(*_: object) -> Validation:
        return Validation(float(next(losses)), None)

    monkeypatch.setattr("regard.fit.objectives.translate.validate", better_each_time)
    lines = go(ask(tmp_path, *KEYS, steps=16))
    run = RunFolder(tmp_path / "run")
    assert any(
        line.startswith("Final weights: the moving average of the weights (decay 0.8);")
        for line in lines
    )
    last = load_file(run.checkpoints / folder_name(16) / "optimizer.safetensors")
    final = load_file(run.weights)
    assert final and all(torch.equal(final[name], last[f"{name}.ema"]) for name in final)
    assert json.loads(run.weights_info.read_text())["from"].startswith("the moving average")


def test_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask(tmp_path / "straight", *KEYS))
    go_with_halts(ask(tmp_path / "halted", *KEYS), [1, 13, 30], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_a_decay_of_one_would_never_learn() -> None:
    with pytest.raises(ConfigError, match="ema: got 1.0, expected 0 ≤ decay < 1"):
        TrainSection(ema=1.0)
