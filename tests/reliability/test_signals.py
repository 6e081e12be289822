"""Asked to stop by a signal: a checkpoint, the right exit code, within seconds; nothing is lost."""

import os
import signal
import time
from pathlib import Path

import pytest

from regard.api.load import load
from regard.checkpoint.files import folder_name, steps_saved
from regard.checkpoint.training_state import verify
from regard.runs.folder import RunFolder
from reliability import toys
from reliability.forks import Trainings

pytestmark = pytest.mark.end_to_end

SECONDS = 5.0
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)


def stopped(
    trainings: Trainings, arguments: list[str], number: signal.Signals, step: int
) -> tuple[int, float, str]:
    """The exit code, how long it took, and what was said, after a signal in that step."""
    child = trainings.start(*arguments, gate_at=["step"])
    begun = 0.0
    for word in child.words():
        if word == f"step {step}":
            child.kill(number)
            begun = time.monotonic()
            break
    done = child.wait()
    return done.code, time.monotonic() - begun, done.output


@pytest.mark.parametrize(
    "times", [pytest.param(6), pytest.param(20, marks=pytest.mark.long)], ids=str
)
def test_saved_and_ended_within_seconds(
    trainings: Trainings,
    tmp_path: Path,
    straight: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    times: int,
) -> None:
    arguments = toys.new(tmp_path)
    slowest = 0.0
    for i in range(times):
        number, step = SIGNALS[i % len(SIGNALS)], 2 * i + 2
        code, seconds, output = stopped(trainings, arguments, number, step)
        assert code == 128 + number, output
        assert f"Stopped after step {step}; everything is saved." in output
        assert steps_saved(tmp_path / "run/checkpoints")[-1] == step
        verify(tmp_path / "run/checkpoints" / folder_name(step))
        slowest = max(slowest, seconds)
        arguments = toys.again(tmp_path)
    assert slowest < SECONDS
    assert trainings.run(*arguments).code == 0
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
    with capsys.disabled():
        print(
            f"\n{times} of {times} signals saved and ended the run, the slowest in {slowest:.2f} s"
        )


@pytest.mark.long
def test_with_two_processes(trainings: Trainings, tmp_path: Path) -> None:
    """The signal goes to both, as from a terminal or a job manager; the worker ends with us."""
    (tmp_path / "straight").mkdir()
    both = ("train.workers=2", "train.threads=2")
    assert trainings.run(*toys.new(tmp_path / "straight", *both)).code == 0
    arguments = toys.new(tmp_path, *both)
    for number, step in ((signal.SIGTERM, 9), (signal.SIGUSR1, 17)):
        child = trainings.start(*arguments, gate_at=["step"])
        workers: list[int] = []
        for word in child.words():
            if word == f"step {step}":
                workers = children_of(child.pid)
                for pid in (*workers, child.pid):
                    os.kill(pid, number)
                break
        begun = time.monotonic()
        done = child.wait()
        assert done.code == 128 + number, done.output
        assert time.monotonic() - begun < SECONDS
        assert len(workers) == 1 and not Path(f"/proc/{workers[0]}").exists()
        arguments = toys.again(tmp_path)
    assert trainings.run(*arguments).code == 0
    assert toys.digest(tmp_path) == toys.digest(tmp_path / "straight")


def children_of(pid: int) -> list[int]:
    task = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in task.read_text().split()]


@pytest.mark.parametrize(
    "number",
    [SIGNALS[0], *(pytest.param(n, marks=pytest.mark.long) for n in SIGNALS[1:])],
    ids=lambda number: number.name,
)
def test_in_the_middle_of_a_long_validation(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str], number: signal.Signals
) -> None:
    child = trainings.start(*toys.new(tmp_path), slow_validation=60.0, gate_at=["step"])
    for word in child.words():
        if word == f"step {toys.EVERY}":
            break
    child.proceed()
    time.sleep(1.0)  # now it validates
    begun = time.monotonic()
    child.kill(number)
    done = child.wait()
    assert done.code == 128 + number, done.output
    assert time.monotonic() - begun < SECONDS
    assert steps_saved(tmp_path / "run/checkpoints") == [toys.EVERY]
    assert trainings.run(*toys.again(tmp_path)).code == 0
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def test_several_signals_at_once_are_one_request(trainings: Trainings, tmp_path: Path) -> None:
    """A closed terminal sends SIGHUP twice, a job manager USR1 and then TERM."""
    child = trainings.start(*toys.new(tmp_path), gate_at=["step"])
    for word in child.words():
        if word == "step 10":
            for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
                child.kill(number)
                time.sleep(0.05)
            break
    done = child.wait()
    assert done.code == 128 + signal.SIGHUP, done.output
    assert steps_saved(tmp_path / "run/checkpoints")[-1] == 10


def test_a_second_ctrl_c_interrupts_at_once(trainings: Trainings, tmp_path: Path) -> None:
    child = trainings.start(*toys.new(tmp_path), gate_at=["step"])
    for word in child.words():
        if word == "step 10":
            for _ in range(2):
                child.kill(signal.SIGINT)
                time.sleep(0.05)
            break
    assert child.wait().code == 130
    assert steps_saved(tmp_path / "run/checkpoints") == [toys.EVERY]


def test_nohup_is_respected(trainings: Trainings, tmp_path: Path, straight: dict[str, str]) -> None:
    child = trainings.start(*toys.new(tmp_path), ignore_hangup=True, gate_at=["step"])
    for word in child.words():
        if word == "step 10":
            child.kill(signal.SIGHUP)
            break
    done = child.wait()
    assert done.code == 0, done.output
    assert toys.digest(tmp_path)["weights"] == straight["weights"]


def test_a_terminal_that_is_gone_does_not_end_the_training(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    """Every write to the terminal fails, as after it was closed: the run saves and ends."""
    child = trainings.start(*toys.new(tmp_path), broken_output=True, gate_at=["step"])
    for word in child.words():
        if word == "step 20":
            child.kill(signal.SIGHUP)
            break
    done = child.wait()
    assert done.code == 128 + signal.SIGHUP, done.output
    assert steps_saved(tmp_path / "run/checkpoints")[-1] == 20
    assert trainings.run(*toys.again(tmp_path)).code == 0
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


@pytest.mark.parametrize(
    "first",
    [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGINT],
    ids=lambda one: one.name,
)
def test_while_the_final_weights_are_chosen(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str], first: signal.Signals
) -> None:
    """It says what is saved and how to go on; a resumed run chooses again, and the same."""
    arguments, resumed = toys.new(tmp_path), False
    for number in (first, signal.SIGUSR1):
        child = trainings.start(*arguments, gate_at=["validation"])
        wanted = 2 if resumed else 3  # the last step's, if it is made; the best; the average
        for word in child.words():
            wanted -= word == f"validation {toys.STEPS}"
            if not wanted:
                child.kill(number)
                break
        done = child.wait()
        assert done.code == 128 + number, done.output
        assert "Stopped after step 60, while the final weights were chosen" in done.output
        assert f"Go on with: regard train --resume {tmp_path / 'run'}" in done.output
        run = RunFolder(tmp_path / "run")
        assert run.read_info()["state"] == "stopped" and not run.weights.exists()
        assert load(run.folder, "cpu").tasks == ("translate",)  # with the best checkpoint
        arguments, resumed = toys.again(tmp_path), True
    assert trainings.run(*arguments).code == 0
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def test_while_the_final_weights_are_written_it_is_too_late(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    """The writing takes a moment: the run ends as it would have."""
    child = trainings.start(*toys.new(tmp_path), gate_at=["finish"])
    for word in child.words():
        if word.startswith("before replace") and "model.safetensors" in word:
            child.kill(signal.SIGTERM)
            break
    done = child.wait()
    assert done.code == 0 and "Final weights:" in done.output, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def test_a_second_ctrl_c_while_the_final_weights_are_written(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    child = trainings.start(*toys.new(tmp_path), gate_at=["finish"])
    for word in child.words():
        if word.startswith("before replace") and "model.safetensors" in word:
            for _ in range(2):
                child.kill(signal.SIGINT)
                time.sleep(0.05)
            break
    done = child.wait()
    assert done.code == 130, done.output
    assert "Stopped at once: step 60 is saved" in done.output
    assert f"Go on with: regard train --resume {tmp_path / 'run'}" in done.output
    assert trainings.run(*toys.again(tmp_path)).code == 0
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
