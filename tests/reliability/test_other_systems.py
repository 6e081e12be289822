"""What only Linux has is switched off: trainings run the plain way, to the very same bits."""

import signal
from pathlib import Path

import pytest

import toy
from regard import atomic, lock
from regard.errors import MisuseError
from regard.fit import signals as stop
from regard.fit.train import Request, train
from regard.processor import machine
from regard.runs import folder as run
from regard.training import data_parallel, malloc, memory_limit, shared

STEPS = 12
SHORT = (*toy.SMALL, "train.threads=2", "train.workers=2", f"train.steps={STEPS}")
MAC = ("memfd", "mallopt", "proc", "affinity")
WINDOWS = (*MAC, "share", "flock", "folders", "open files", "signals")


def switch_off(what: str, patch: pytest.MonkeyPatch, nowhere: Path) -> None:
    """One thing that Linux has and others have not."""
    match what:
        case "memfd":
            patch.setattr(shared, "can_memfd", lambda: False)
        case "mallopt":
            patch.setattr(malloc, "_switch", lambda name: None)
        case "proc":
            for module, name in ((memory_limit, "_STATUS"), (memory_limit, "_FREE")):
                patch.setattr(module, name, nowhere)
            patch.setattr(memory_limit, "_GROUPS", ())
            patch.setattr(machine, "_first_core", dict[str, str])
        case "affinity":
            patch.setattr(machine, "can_ask_for_cores", lambda: False)
        case "share":
            patch.setattr(data_parallel, "can_share", lambda: False)
        case "flock":
            patch.setattr(lock, "can_flock", lambda: False)
        case "folders":
            patch.setattr(atomic, "can_sync_folders", lambda: False)
        case "open files":
            patch.setattr(atomic, "is_refused_while_open", lambda: True)
        case "signals":
            patch.setattr(stop, "known_signals", lambda: [signal.SIGINT, signal.SIGTERM])
        case _:
            raise KeyError(what)


def trained(place: Path, folder: str) -> Path:
    source, target = toy.write(place, 100)
    asked = Request(
        source=source,
        target=target,
        assignments=(*SHORT, "train.validate_every=5"),
        folder=place / folder,
    )
    train(asked, lambda line: None)
    return place / folder


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checksums of a training with all that this system has."""
    place = tmp_path_factory.mktemp("usual")
    return toy.digest(trained(place, "run"), STEPS)


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    "lacking",  # Windows lacks all that macOS does
    [pytest.param(MAC, id="macOS", marks=pytest.mark.long), pytest.param(WINDOWS, id="Windows")],
)
def test_a_training_without_it_gives_the_same_bits(
    lacking: tuple[str, ...],
    usual: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for what in lacking:
        switch_off(what, monkeypatch, tmp_path / "nowhere")
    folder = trained(tmp_path, "run")
    assert toy.digest(folder, STEPS) == usual
    with run.only_one(run.RunFolder(folder)), pytest.raises(MisuseError, match="another process"):
        train(Request(resume=folder), lambda line: None)


def test_without_proc_there_is_no_limit_and_nothing_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_off("proc", monkeypatch, tmp_path / "nowhere")
    assert memory_limit.free_memory() is memory_limit.used_memory() is None
    assert memory_limit.room(None) is memory_limit.room(500) is None
    with memory_limit.memory_limit(500) as limited:
        assert not limited
    assert machine.this_machine().cpu  # what Python knows of it
    switch_off("affinity", monkeypatch, tmp_path)
    assert machine.cores() >= 1


def test_a_c_library_without_the_switch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert malloc._switch("no_such_function_anywhere") is None
    switch_off("mallopt", monkeypatch, Path())
    assert not malloc.keep_freed_memory()
    malloc.give_freed_memory_back()


def test_signals_that_the_system_has_not_are_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    switch_off("signals", monkeypatch, Path())
    before = signal.getsignal(signal.SIGUSR1)
    with stop.polite_stop(stop.StopRequest()) as request:
        assert signal.getsignal(signal.SIGUSR1) is before
        signal.raise_signal(signal.SIGTERM)
        assert request.signal == signal.SIGTERM
