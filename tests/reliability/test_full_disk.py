"""No room for a checkpoint: training goes on, the old one stays whole, the end says it."""

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.checkpoint.files import copy_around, folder_name, steps_saved
from regard.checkpoint.training_state import verify
from regard.runs.log import Log, read_log
from reliability import toys
from reliability.forks import Child, Trainings
from small_disk import fill, mounted

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as place:
        yield place


def until_save(child: Child, number: int) -> Iterator[str]:
    """Let it go on to the save of that number, which waits."""
    words = child.words()
    for _, _word in zip(range(number), words, strict=False):
        pass
    return words


def test_the_disk_stays_full(
    trainings: Trainings, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = trainings.start(*toys.new(small_disk), gate_at=["save"])
    until_save(child, 3)
    fill(small_disk)
    done = child.wait()
    assert done.code == 1, done.output
    saved = steps_saved(small_disk / "run/checkpoints")
    assert saved == [toys.EVERY, 2 * toys.EVERY]
    for step in saved:
        verify(small_disk / "run/checkpoints" / folder_name(step))
    assert not list((small_disk / "run/checkpoints").glob(".tmp-*"))
    refused = [
        int(step)
        for step in re.findall(
            r"ERROR: step (\d+): the checkpoint could not be written", done.output
        )
    ]
    assert refused == [21, 28, 35, 42, 49, 56, 60]  # tried again at each
    assert "No space left on device; the last one is of step 14; training goes on" in done.output
    assert "Training ended: all 60 steps are done." in done.output
    assert "the final weights could not be written: No space left on device" in done.output
    assert "Traceback" not in done.output, done.output
    (small_disk / "filler").unlink()
    again = trainings.run(*toys.again(small_disk))
    assert again.code == 0 and "after step 14." in again.output, again.output
    with capsys.disabled():
        print(
            f"\nfull disk: {len(refused)} checkpoints refused, {refused[-1] - saved[-1]} steps "
            f"went on, exit code {done.code}, {len(saved)} checkpoints whole"
        )


def test_room_is_made_and_nothing_is_different(
    trainings: Trainings, small_disk: Path, straight: dict[str, str]
) -> None:
    child = trainings.start(*toys.new(small_disk), gate_at=["save"])
    words = until_save(child, 2)
    filler = fill(small_disk)
    next(words)  # the second save fails
    next(words)  # so does the third
    filler.unlink()
    done = child.wait()
    assert done.code == 0, done.output
    assert done.output.count("could not be written") == 2
    found = toys.digest(small_disk)
    assert found == {name: straight[name] for name in found}  # the log too


def test_killed_while_the_disk_is_full(
    trainings: Trainings, small_disk: Path, straight: dict[str, str]
) -> None:
    child = trainings.start(*toys.new(small_disk), gate_at=["save"])
    words = until_save(child, 3)
    filler = fill(small_disk)
    next(words)
    next(words)
    child.kill()
    assert child.wait().code == -9
    filler.unlink()
    done = trainings.run(*toys.again(small_disk))
    assert done.code == 0 and "after step 14." in done.output, done.output
    found = toys.digest(small_disk)
    assert found == {name: straight[name] for name in found}


def test_a_limit_on_files_and_the_exit_code(trainings: Trainings, tmp_path: Path) -> None:
    """As with a quota: the optimizer's file is too large, everything else fits.

    The final weights are written, those of the last step among them; the code still says that the
    run cannot be resumed from its end.
    """
    (tmp_path / "a").mkdir()
    done = trainings.run(*toys.new(tmp_path / "a"))
    assert done.code == 0, done.output
    folder = tmp_path / "a/run/checkpoints" / folder_name(toys.STEPS)
    sizes = [(folder / f"{name}.safetensors").stat().st_size for name in ("weights", "optimizer")]
    place = tmp_path / "b"
    place.mkdir()
    done = trainings.run(*toys.new(place), largest_file=(sizes[0] + sizes[1]) // 2)
    assert done.code == 1, done.output
    assert "File too large; there is none yet; training goes on" in done.output
    assert "ERROR: the checkpoint of step 60 is not saved: File too large." in done.output
    assert "Final weights: those of the last step (60)" in done.output
    assert steps_saved(place / "run/checkpoints") == []
    assert "Traceback" not in done.output, done.output


# Where the disk becomes full (the gate, and a part of its word) → what there is no room for.
MOMENTS = {
    "before it begins": ("", "", "run.json"),
    "the vocabulary": ("vocabulary", "vocabulary", "tokenizer.json"),
    "training pairs": ("prepare", "replace tokenizer.json", "data/train"),
    "validation pairs": ("prepare", "rmtree .tmp-valid", "data/valid"),
    "held-out texts": ("prepare", "fsync .tmp-parts.jsonl", "data/valid.jsonl"),
    "the spec": ("prepare", "fsync .tmp-recipe.json", "spec.json"),
    "the log": ("step", "step 1", "log.jsonl"),
    "a checkpoint": ("save", "save 7", "checkpoints/step-00000007/weights.safetensors"),
    "final weights": ("finish", "mkdir", "model.safetensors"),
    "where they come from": ("finish", "replace model.safetensors", "model.json"),
    "the loss curve": ("finish", "replace run.json", "loss.png"),
}


def is_meant(word: str, wanted: str) -> bool:
    """`before replace /a/run/.tmp-x /a/run/x` is meant by `replace x`."""
    return all(part in word for part in wanted.split()) and not word.startswith("after")


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_room_names_the_file(trainings: Trainings, small_disk: Path, moment: str) -> None:
    gate, wanted, file = MOMENTS[moment]
    arguments = toys.new(small_disk, "train.steps=14")
    if not gate:
        fill(small_disk)
        done = trainings.run(*arguments)
    else:
        child = trainings.start(*arguments, gate_at=[gate])
        for word in child.words():
            if is_meant(word, wanted):
                fill(small_disk)
                break
        done = child.wait()
    assert "Traceback" not in done.output, done.output
    assert done.code == (0 if file == "loss.png" else 1), done.output
    named = [line for line in done.output.splitlines() if "No space left on device" in line]
    assert any(f"{small_disk / 'run' / file}" in line for line in named), done.output
    is_prepared = gate not in ("", "vocabulary", "prepare")
    assert (small_disk / "run").exists() == is_prepared  # else nothing of it is left


def test_the_board_may_be_dropped_while_a_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorBoard's thread meets the full disk between two lines of ours."""
    pytest.importorskip("tensorboard")
    with Log(tmp_path / "log.jsonl", tmp_path / "tensorboard") as log:
        full = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr(log, "_check_place", lambda: log._drop_board(full))
        log.write("train", 1, loss=1.0)
        assert "No space left" in log.board_failed and log.unwritten == ""


def test_no_room_for_the_log_is_told(small_disk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And TensorBoard's thread ends in a sentence, not in a traceback."""
    pytest.importorskip("tensorboard")
    with Log(small_disk / "log.jsonl", small_disk / "tensorboard") as log:
        log.write("train", 1, loss=1.0)
        log.sync()
        assert (log.unwritten, log.board_failed) == ("", "")
        filler = fill(small_disk)
        for step in range(2, 3000):
            log.write("train", step, loss=1.0)
        log.sync()
        room = "could not be written: No space left on device"
        assert log.unwritten.startswith(f"{small_disk / 'log.jsonl'}: ") and room in log.unwritten
        filler.unlink()
    assert log.unwritten == ""
    assert log.board_failed == f"{small_disk / 'tensorboard'}: No space left on device"
    assert "Traceback" not in capfd.readouterr().err
    assert [r["step"] for r in read_log(small_disk / "log.jsonl")] == list(range(1, 3000))


def test_no_room_for_a_copy_names_the_copy(small_disk: Path, tmp_path: Path) -> None:
    """Python's own copying names the file that is read."""
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert/vocab.txt").write_bytes(b"word\n" * 100_000)
    (small_disk / "run").mkdir()
    fill(small_disk)
    with pytest.raises(OSError) as error:
        copy_around(tmp_path / "bert", small_disk / "run")
    assert error.value.filename == str(small_disk / "run/vocab.txt")
