"""Shapes in signatures are checked while tests run; each test starts from the same random state."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from regard.processor.caps import note_import_order
from regard.processor.survives import get_ready, ruled_out

note_import_order()  # before torch is imported: a cap that this processor needs is heeded

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

import toy  # noqa: E402

ROOMS = (
    "draw", "text", "data.batch", "model", "training", "checkpoint", "decode", "runs", "bundle",
    "engines", "answer", "prepare", "fit", "search", "evaluate", "convert", "explain",
)  # fmt: skip
with install_import_hook([f"regard.{room}" for room in ROOMS], "shape_check.check"):
    import regard.config
    import regard.decode.beam
    import regard.draw.figure.comparison
    import regard.draw.figure.dots
    import regard.draw.figure.heat_map
    import regard.draw.figure.positions
    import regard.draw.figure.svg
    import regard.draw.figure.tables
    import regard.draw.terminal.attributions
    import regard.draw.terminal.dots
    import regard.evaluate.translations
    import regard.explain.by_hand.sheet
    import regard.explain.encoder
    import regard.explain.positions
    import regard.explain.views
    import regard.explain.walk
    import regard.fit.train  # noqa: F401

# A busy machine fails no test; in CI the examples are the same each time, elsewhere they are drawn.
hypothesis.settings.register_profile(
    "untimed", deadline=None, derandomize=os.environ.get("CI") == "true"
)
hypothesis.settings.load_profile("untimed")
_cache: list[str] = []  # made by this process


def pytest_configure(config: pytest.Config) -> None:
    """What regard keeps for a user goes to a folder of the tests, also from their children.

    The processes of `-n` inherit it. What this processor survives is asked before torch computes.
    A shell that starts us in the background may have switched Ctrl-C off; commands that tests
    interrupt would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "REGARD_CACHE" not in os.environ:
        _cache.append(tempfile.mkdtemp(prefix="regard-tests-"))
        os.environ["REGARD_CACHE"] = _cache[0]
    get_ready()


# Files that take longest, so that they are begun first; the others follow in their own order.
LONGEST = (
    "tests/test_docs.py", "tests/test_readme.py", "tests/test_wheel.py", "tests/fit/test_resume.py",
    "tests/reliability/test_signals.py", "tests/training/test_memory_limit.py",
    "tests/reliability/test_prove.py", "tests/training/test_memory_estimate.py",
    "tests/reliability/test_kill_sweep.py", "tests/reliability/test_spike.py",
    "tests/fit/test_train.py", "tests/processor/test_ways_in.py", "tests/attacks/test_fuzz.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_unconfigure(config: pytest.Config) -> None:
    for folder in _cache:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("bf16")`: skipped, and said why, where that would end the process."""
    for mark in item.iter_markers("needs"):
        for feature in mark.args:
            reason = ruled_out(feature)
            if reason:
                pytest.skip(f"this machine does not survive {reason}")


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
    from regard.fit.train import Request, train

    folder = tmp_path_factory.mktemp("toy")
    source, target = toy.write(folder, 200)
    changes = (*toy.SMALL, "train.steps=30", "train.validate_every=10", "train.factor=0.3")
    run = folder / "run"
    asked = Request(source=source, target=target, assignments=changes, folder=run)
    train(asked, lambda line: None)
    return run
