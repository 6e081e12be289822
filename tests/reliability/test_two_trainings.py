"""Two trainings into one new folder: the first holds it from before its corpus is read.

What was found: the time from making the folder to its first file, all of the vocabulary's learning
among it, was unguarded. The first one, stopped meanwhile, then deleted or replaced the finished run
of the second.
"""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.runs.listing import list_runs
from reliability import toys
from reliability.forks import Child, Trainings

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def others() -> Iterator[Trainings]:
    """Another server, so that two trainings run at a time."""
    server = Trainings()
    yield server
    server.close()


def stopped(trainings: Trainings, arguments: list[str]) -> Child:
    """A training that stands still before its vocabulary is learned."""
    child = trainings.start(*arguments, gate_at=["vocabulary"])
    assert next(child.words()) == "vocabulary"
    child.kill(signal.SIGSTOP)
    return child


@pytest.mark.parametrize("interrupt", [True, False], ids=["interrupted", "left to go on"])
def test_the_second_is_refused(
    trainings: Trainings,
    others: Trainings,
    tmp_path: Path,
    straight: dict[str, str],
    interrupt: bool,
) -> None:
    arguments = toys.new(tmp_path)
    first = stopped(trainings, arguments)
    second = others.run(*arguments, "train.steps=5")
    if interrupt:
        first.kill(signal.SIGINT)
    first.kill(signal.SIGCONT)
    done = first.wait()
    assert second.code == 2, second.output
    assert f"{tmp_path / 'run'}: another process is training there" in second.output
    if interrupt:
        assert done.code == 130 and not (tmp_path / "run").exists(), done.output
        done = others.run(*arguments)  # now there is nobody in its way
    assert done.code == 0, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def test_the_first_one_is_killed_and_the_next_takes_its_place(
    trainings: Trainings, others: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    arguments = toys.new(tmp_path)
    first = stopped(trainings, arguments)
    (row,) = list_runs(tmp_path)
    first.kill(signal.SIGKILL)
    assert first.wait().code == -9
    (left,) = list_runs(tmp_path)
    assert (row.state, left.state) == ("preparing", "cut off")
    resumed = others.run(*toys.again(tmp_path))
    assert resumed.code == 1 and "killed while it prepared its data" in resumed.output
    assert f"--run {tmp_path / 'run'}` begins it again" in resumed.output
    done = others.run(*arguments)
    assert done.code == 0 and "A training was killed here before its first step" in done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
