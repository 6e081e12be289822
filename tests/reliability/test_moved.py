"""Run folders that are moved, linked, oddly named, and clocks that are wrong: nothing is lost."""

import os
import shutil
from pathlib import Path

import pytest

import toy
from regard.checkpoint.files import folder_name, steps_saved
from regard.checkpoint.training_state import verify
from regard.runs.listing import list_runs
from reliability import toys
from reliability.forks import Child, Trainings

pytestmark = pytest.mark.end_to_end


def until(child: Child, word: str) -> None:
    """Let it go on to that word, where it waits."""
    child.proceed()
    for said in child.words():
        if said == word:
            return
    raise AssertionError(f"no {word}")


def test_moved_while_it_trains(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    """The old name is not made again; where the run is now, it goes on."""
    child = trainings.start(*toys.new(tmp_path), gate_at=["save"])
    until(child, f"save {2 * toys.EVERY}")
    (tmp_path / "run").rename(tmp_path / "moved")
    done = child.wait()
    assert done.code == 1 and "Traceback" not in done.output, done.output
    assert "the folder of this run was moved or deleted while it trained" in done.output
    assert not (tmp_path / "run").exists()
    assert steps_saved(tmp_path / "moved/checkpoints") == [toys.EVERY]
    again = trainings.run("--resume", str(tmp_path / "moved"))
    assert again.code == 0, again.output
    found = toy.digest(tmp_path / "moved", toys.STEPS)
    assert found == {name: straight[name] for name in found}


def test_moved_while_it_trains_and_moved_back(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    child = trainings.start(*toys.new(tmp_path), gate_at=["save"])
    until(child, f"save {2 * toys.EVERY}")
    (tmp_path / "run").rename(tmp_path / "moved")
    until(child, f"save {4 * toys.EVERY}")
    (tmp_path / "moved").rename(tmp_path / "run")
    done = child.wait()
    assert done.code == 0 and done.output.count("could not be written") == 2, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}


def test_its_name_is_somebody_elses_meanwhile(trainings: Trainings, tmp_path: Path) -> None:
    child = trainings.start(*toys.new(tmp_path), gate_at=["save"])
    until(child, f"save {2 * toys.EVERY}")
    (tmp_path / "run").rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "run")
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    assert child.wait().code == 1
    after = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    assert after == before


def test_killed_renamed_and_resumed_through_a_link(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    """Its checkpoints lie elsewhere, too, and its corpus is gone."""
    child = trainings.start(*toys.new(tmp_path), gate_at=["step"])
    until(child, f"step {3 * toys.EVERY + 2}")
    child.kill()
    assert child.wait().code == -9
    for name in ("a.en", "a.de"):
        (tmp_path / name).unlink()
    (tmp_path / "deep").mkdir()
    moved = (tmp_path / "run").rename(tmp_path / "deep/renamed")
    for step in steps_saved(moved / "checkpoints"):
        place = moved / "checkpoints" / folder_name(step)
        place.rename(tmp_path / "deep" / place.name)
        place.symlink_to(tmp_path / "deep" / place.name)
    (tmp_path / "run").symlink_to(moved)
    done = trainings.run(*toys.again(tmp_path))
    assert done.code == 0, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
    assert (tmp_path / "run").is_symlink() and not list(moved.rglob(".tmp-*"))
    for step in steps_saved(moved / "checkpoints"):
        verify(moved / "checkpoints" / folder_name(step))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_odd_names_of_folders_and_files(trainings: Trainings, tmp_path: Path) -> None:
    """The files of the corpus need not even have names that are text; a run's folder must."""
    place, odd = tmp_path / "-two\nlines $x_{$ [b] %s", os.fsdecode(b"not \xff text.en")
    place.mkdir()
    source, target = toy.write(place, 100)
    source = source.rename(place / odd)
    files = ["--source", str(source), "--target", str(target)]
    few = [*toys.SHORT, f"train.steps={toys.EVERY}"]
    refused = trainings.run(*files, *few, "--run", str(place / odd))
    assert refused.code == 2 and "its name is not UTF-8" in refused.output, refused.output
    run = place / place.name
    done = trainings.run(*files, *few, "--run", str(run))
    assert done.code == 0 and "Traceback" not in done.output, done.output
    done = trainings.run("--resume", str(run), f"train.steps={2 * toys.EVERY}")
    assert done.code == 0 and "Traceback" not in done.output, done.output
    (row,) = list_runs(place)
    assert (row.folder, row.state, row.problem) == (str(run), "finished", "")
    assert row.data == f"{odd} → a.de"


@pytest.mark.long
def test_a_clock_that_jumps(trainings: Trainings, tmp_path: Path, straight: dict[str, str]) -> None:
    """Ahead by years, back by decades, at every look at it; also between a kill and a resume."""
    day = 86_400.0
    child = trainings.start(
        *toys.new(tmp_path), gate_at=["step"], clock=(0, 9000 * day, -9000 * day)
    )
    until(child, f"step {3 * toys.EVERY + 2}")
    child.kill()
    assert child.wait().code == -9
    for path in (tmp_path / "run").rglob("*"):
        os.utime(path, (4e9, 4e9))  # in the year 2096
    done = trainings.run(*toys.again(tmp_path), clock=(-9000 * day,))
    assert done.code == 0, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
