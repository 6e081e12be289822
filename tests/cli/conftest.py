"""Commands as a shell starts them, and what they work on: made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import every_command
from cli.shell import Shell


@pytest.fixture(scope="session")
def shell() -> Iterator[Shell]:
    made = Shell()
    yield made
    made.close()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory, toy_run: Path) -> Path:
    return every_command.make(tmp_path_factory.mktemp("models"), toy_run)


@pytest.fixture
def place(tmp_path: Path, models: Path) -> Path:
    """A folder to call commands from."""
    return every_command.place(tmp_path / "place", models)
