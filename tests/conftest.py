"""Shapes in signatures are checked while tests run; each test starts from the same random state."""

from pathlib import Path

import pytest
from jaxtyping import install_import_hook

ROOMS = ("draw", "text", "model", "train", "checkpoint", "decode", "tasks", "explain")
with install_import_hook([f"regard.{room}" for room in ROOMS], "shape_check.check"):
    import regard.config
    import regard.decode.beam
    import regard.explain.heads
    import regard.tasks.evaluate
    import regard.tasks.train  # noqa: F401

import torch


@pytest.fixture(autouse=True)
def _same_chance() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent
