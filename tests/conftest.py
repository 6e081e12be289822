"""Shapes in signatures are checked while tests run; each test starts from the same random state."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

import toy

# Not data/phrasebook: it has no shapes, and making it takes three times as long when watched.
ROOMS = ("draw", "text", "data.batch", "model", "train", "checkpoint", "decode", "tasks", "explain")
with install_import_hook([f"regard.{room}" for room in ROOMS], "shape_check.check"):
    import regard.config
    import regard.decode.beam
    import regard.draw.attributions
    import regard.draw.dots
    import regard.draw.positions_png
    import regard.draw.table_pictures
    import regard.explain.encoder
    import regard.explain.positions
    import regard.explain.sheet
    import regard.explain.views
    import regard.explain.walk
    import regard.tasks.evaluate
    import regard.tasks.train  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What regard keeps for a user goes to a folder of the tests, also from their children."""
    with pytest.MonkeyPatch.context() as patch:
        if "REGARD_CACHE" not in os.environ:
            patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _same_chance() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture
def bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder bench/, whose modules can be imported meanwhile, as its scripts do."""
    folder = repository / "bench"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(folder / "peers"))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(vars(sys.modules[name]).get("__file__")).startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained for a moment on the toy language: not good, but complete."""
    from regard.tasks.train import Request, train

    folder = tmp_path_factory.mktemp("toy")
    source, target = toy.write(folder, 200)
    changes = (*toy.SMALL, "train.steps=30", "train.validate_every=10", "train.factor=0.3")
    run = folder / "run"
    asked = Request(source=source, target=target, assignments=changes, folder=run)
    train(asked, lambda line: None)
    return run
