"""One server of trainings for all tests of this folder."""

import signal
from collections.abc import Iterator

import pytest

from reliability import toys
from reliability.forks import Trainings


@pytest.fixture(scope="session")
def trainings() -> Iterator[Trainings]:
    # Tests that were started under nohup would hand its ignored SIGHUP on.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    server = Trainings()
    yield server
    server.close()
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def straight(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checksums of the short run that nothing ever happened to."""
    place = tmp_path_factory.mktemp("straight")
    done = trainings.run(*toys.new(place), examples=str(place / "examples"))
    assert done.code == 0, done.output
    return toys.digest(place) | {"examples": str(place / "examples")}
