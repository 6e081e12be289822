"""The folder of a new run: one process has it, and gives back no more than it made."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from refusals import refused
from regard import lock
from regard.bundle.open_run import open_run
from regard.errors import CheckpointError, MisuseError
from regard.fit.claim import claimed, claimed_free, free_folder
from regard.runs.folder import PREPARING, RunFolder, only_one
from regard.runs.listing import list_runs

WORDS = ["demo", "train.steps=5", "data.source=a b.en"]
AT_ONCE = 6
RACE = """
import sys
from pathlib import Path
from regard.fit.claim import claimed_free
print("ready", flush=True)
sys.stdin.readline()
with claimed_free(Path(sys.argv[1]) / "runs", "demo", []) as claim:
    print(claim.run.folder.name, flush=True)
    sys.stdin.readline()
    claim.ready = True
"""


@pytest.fixture(params=["flock", "SQLite"], autouse=True)
def _each_kind_of_lock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "flock" and not lock.can_flock():
        pytest.skip("this system has no flock")
    monkeypatch.setattr(lock, "can_flock", lambda: request.param == "flock")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def killed(folder: Path) -> RunFolder:
    """What SIGKILL leaves of a preparation: all that it had made, and no lock that is held."""
    with claimed(folder, WORDS) as claim:
        run = claim.run
        run.tokenizer.write_text("{}")
        (run.data / "train").mkdir(parents=True)
        (folder / ".tmp-spec.json-77").write_text("{")
        (folder / "vocab.txt").write_text("")
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling/config.json").write_text("{}")
        claim.ready = True
    return run


def test_it_is_held_and_says_so_before_anything_is_done(tmp_path: Path) -> None:
    folder = tmp_path / "runs/demo"
    with claimed(folder, WORDS) as claim:
        assert claim.run.read_info()["state"] == PREPARING and claim.run.is_held()
        (row,) = list_runs(tmp_path)
        assert (row.state, row.problem) == ("preparing", "")
        with refused(MisuseError, problem="another process is training there"):
            claimed(folder, []).__enter__()
        with refused(MisuseError, problem="another process prepares the data of this run"):
            open_run(folder)
        with claimed_free(tmp_path / "runs", "demo", []) as other:
            assert other.run.folder.name == "demo-2"
            other.ready = True
        claim.ready = True
    assert names(tmp_path / "runs") == ["demo", "demo-2"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, CheckpointError])
def test_what_failed_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    for claim in (
        claimed(tmp_path / "a/b/run", WORDS),
        claimed_free(tmp_path / "runs", "demo", WORDS),
    ):
        with pytest.raises(error), claim as held:
            (held.run.data / "train").mkdir(parents=True)
            held.run.tokenizer.write_text("{}")
            raise error
        assert names(tmp_path) == []


def test_a_folder_that_was_there_stays_and_so_does_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(ValueError), claimed(tmp_path / "run", WORDS) as claim:
        claim.run.tokenizer.write_text("{}")
        (tmp_path / "run/notes.txt").write_text("mine")
        raise ValueError
    assert names(tmp_path / "run") == ["notes.txt"]
    with refused(MisuseError, problem="already there", advice="delete it"):
        claimed(tmp_path / "run", WORDS).__enter__()
    assert names(tmp_path / "run") == ["notes.txt"]


def test_once_it_is_ready_all_of_it_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "run", WORDS) as claim:
        claim.run.tokenizer.write_text("{}")
        claim.ready = True
        raise KeyboardInterrupt
    assert names(tmp_path / "run") == [".lock", "run.json", "tokenizer.json"]


def test_a_killed_preparation_is_taken_over(tmp_path: Path) -> None:
    run = killed(tmp_path / "runs/demo")
    (run.folder / "notes.txt").write_text("mine")
    (row,) = list_runs(tmp_path)
    assert (row.state, row.step, row.problem) == ("cut off", 0, "")
    again = f"`regard train demo train.steps=5 'data.source=a b.en' --run {run.folder}`"
    with pytest.raises(CheckpointError) as error:
        open_run(run.folder)
    assert again in str(error.value) or sys.platform == "win32"
    with claimed(run.folder, []) as claim:
        assert claim.taken_over and names(run.folder) == [".lock", "notes.txt", "run.json"]
        claim.ready = True
    with claimed_free(tmp_path / "runs", "demo", []) as claim:
        assert claim.taken_over and claim.run.folder == run.folder


@pytest.mark.parametrize("left", [[], [".lock"], [".lock", ".tmp-run.json-77"]], ids=str)
def test_killed_before_it_could_say_what_it_is(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).touch()
    if left:
        with pytest.raises(CheckpointError, match="killed before it could write anything"):
            open_run(tmp_path)
    with claimed(tmp_path, WORDS) as claim:
        assert not claim.taken_over and names(tmp_path) == [".lock", "run.json"]


@pytest.mark.parametrize("result", ["checkpoints", "log.jsonl", "model.safetensors"])
def test_a_run_that_has_results_is_never_taken_over(tmp_path: Path, result: str) -> None:
    run = killed(tmp_path / "demo")
    (run.folder / result).mkdir() if result == "checkpoints" else (run.folder / result).touch()
    before = names(run.folder)
    with refused(MisuseError, problem="already there"):
        claimed(run.folder, WORDS).__enter__()
    with pytest.raises(ValueError), claimed_free(tmp_path, "demo", WORDS) as claim:
        assert claim.run.folder.name == "demo-2"
        raise ValueError
    assert names(run.folder) == before and names(tmp_path) == ["demo"]


def test_a_damaged_run_json_is_nobodys_to_take(tmp_path: Path) -> None:
    run = killed(tmp_path / "demo")
    run.info.write_text("{")
    with refused(MisuseError, problem="already there"):
        claimed(run.folder, WORDS).__enter__()


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with refused(MisuseError, problem="already there, and no folder"):
            claimed(tmp_path / name, WORDS).__enter__()
        with claimed_free(tmp_path, name, WORDS) as claim:
            assert claim.run.folder == tmp_path / f"{name}-2"


def test_a_free_folder_is_made_for_who_asks(tmp_path: Path) -> None:
    assert [free_folder(tmp_path / "runs", "demo").name for _ in range(3)] == [
        "demo",
        "demo-2",
        "demo-3",
    ]


def test_a_lock_that_was_discarded_is_not_mistaken_for_one(tmp_path: Path) -> None:
    """Whoever had opened its file before would hold what nobody else can see."""
    path = tmp_path / ".lock"
    with lock.held(path) as first:
        first.discard = True
    assert names(tmp_path) == []
    with lock.held(path), pytest.raises(lock.Taken), lock.held(path):
        pass
    assert names(tmp_path) == [".lock"]


def test_only_one_is_what_it_was(tmp_path: Path) -> None:
    run = killed(tmp_path / "demo")
    with only_one(run), refused(MisuseError, problem="another process"):
        claimed(run.folder, WORDS).__enter__()


@pytest.mark.skipif(not lock.can_flock(), reason="the processes take the lock of their system")
def test_trainings_of_the_same_moment_get_folders_of_their_own(tmp_path: Path) -> None:
    killed(tmp_path / "runs/demo-3")  # which one of them takes over
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RACE, str(tmp_path)], stdin=pipe, stdout=pipe, text=True
                )
            )
            for _ in range(AT_ONCE)
        ]
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        folders = [p.stdout.readline().strip() for p in processes if p.stdout is not None]
        for process in processes:
            process.communicate("\n", timeout=60)
    expected = ["demo", *(f"demo-{number}" for number in range(2, AT_ONCE + 1))]
    assert sorted(folders) == expected == names(tmp_path / "runs")
    for name in expected:
        info = json.loads((tmp_path / "runs" / name / "run.json").read_text())
        assert info["begun_with"] == []
