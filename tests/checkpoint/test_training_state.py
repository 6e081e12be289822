"""Checkpoints: whole or absent, checked when read, averaged exactly."""

import os
import random
from pathlib import Path

import pytest
import torch

from refusals import refused
from regard.checkpoint.files import steps_saved
from regard.checkpoint.training_state import (
    Checkpoint,
    average_weights,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    verify,
)
from regard.errors import CheckpointError

EXPECTED = {"a": torch.zeros(2, 3), "b": torch.zeros(4)}


def content(value: float) -> Checkpoint:
    weights = {name: torch.full_like(t, value) for name, t in EXPECTED.items()}
    return Checkpoint(
        weights,
        {"a.step": torch.tensor(value)},
        {"step": 7, "best_loss": None},
    )


def test_round_trip(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 7, content(1.5))
    got = load_checkpoint(tmp_path, 7, EXPECTED)
    assert torch.equal(got.weights["a"], torch.full((2, 3), 1.5))
    assert float(got.optimizer["a.step"]) == 1.5
    assert got.state == {"step": 7, "best_loss": None}
    assert sorted(os.listdir(tmp_path / "step-00000007")) == [
        "manifest.json",
        "optimizer.safetensors",
        "state.json",
        "weights.safetensors",
    ]


def test_half_written_ones_are_not_seen(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 5, content(1))
    (tmp_path / ".tmp-step-00000009-123").mkdir()
    (tmp_path / "step-notanumber").mkdir()
    assert steps_saved(tmp_path) == [5]


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "state.json"])
def test_a_flipped_byte_is_found(tmp_path: Path, name: str) -> None:
    chance = random.Random(1)
    for _ in range(10):
        folder = save_checkpoint(tmp_path, 1, content(1))
        data = bytearray((folder / name).read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(data)
        with refused(CheckpointError, problem="checksum"):
            load_checkpoint(tmp_path, 1, EXPECTED)


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path, 1, content(1))
    (folder / "state.json").unlink()
    with refused(CheckpointError, subject="state.json"):
        verify(folder)


def test_average_by_hand(tmp_path: Path) -> None:
    for step, value in ((1, 1.0), (2, 2.0), (3, 6.0)):
        save_checkpoint(tmp_path, step, content(value))
    got = average_weights(tmp_path, [1, 2, 3], EXPECTED)
    assert torch.equal(got["b"], torch.full((4,), 3.0))
    assert torch.equal(load_weights(tmp_path, 2, EXPECTED)["b"], torch.full((4,), 2.0))


def test_the_same_step_again_replaces_the_folder(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, content(1))
    save_checkpoint(tmp_path, 1, content(2))
    assert float(load_weights(tmp_path, 1, EXPECTED)["a"][0, 0]) == 2
    assert len(list(tmp_path.iterdir())) == 1
