"""SIGKILL at every moment of a checkpoint's writing: the run goes on, with the same bits."""

from pathlib import Path

import pytest

from regard.checkpoint.files import folder_name, steps_saved
from regard.checkpoint.training_state import verify
from regard.errors import CheckpointError
from reliability import toys
from reliability.forks import Trainings

pytestmark = pytest.mark.end_to_end


def words_of_one_save(trainings: Trainings, place: Path) -> list[str]:
    """All that the third save does to the disk (it also removes an older checkpoint)."""
    child = trainings.start(*toys.new(place, "train.average=1"), gate_at=["disk"])
    found: list[str] = []
    saves = 0
    for word in child.words():
        saves += word.startswith("save")
        if saves == 4:
            child.kill()
            break
        if saves == 3:
            found.append(word)
    child.wait()
    return found


def kill_at_word(trainings: Trainings, arguments: list[str], place: Path, number: int) -> None:
    """Go on until the third checkpoint is written, and kill at the word of that number."""
    child = trainings.start(*arguments, gate_at=["disk"])
    seen = -1
    for word in child.words():
        if seen >= 0 or word == f"save {3 * toys.EVERY}":
            seen += 1
        if seen == number:
            child.kill()
            break
    assert child.wait().code == -9, "the run ended before it could be killed"


@pytest.mark.parametrize(
    "kills", [pytest.param(3), pytest.param(50, marks=pytest.mark.long)], ids=str
)
def test_killed_anywhere_in_a_write(
    trainings: Trainings, tmp_path: Path, capsys: pytest.CaptureFixture[str], kills: int
) -> None:
    (tmp_path / "look").mkdir()
    words = words_of_one_save(trainings, tmp_path / "look")
    assert len(words) >= 50, words
    (tmp_path / "straight").mkdir()
    plain = trainings.run(*toys.new(tmp_path / "straight", "train.average=1"))
    assert plain.code == 0, plain.output
    survived = 0
    for i in range(kills):
        place = tmp_path / str(i)
        place.mkdir()
        number = round(i * (len(words) - 1) / (kills - 1))
        kill_at_word(trainings, toys.new(place, "train.average=1"), place, number)
        checkpoints = place / "run/checkpoints"
        last = steps_saved(checkpoints)[-1]
        verify(checkpoints / folder_name(last))  # what has its name is whole
        assert last in (2 * toys.EVERY, 3 * toys.EVERY)  # one interval is lost at most
        done = trainings.run(*toys.again(place))
        assert done.code == 0 and f"after step {last}." in done.output, done.output
        assert not list((place / "run").rglob(".tmp-*"))
        survived += toys.digest(place) == toys.digest(tmp_path / "straight")
    with capsys.disabled():
        print(
            f"\nSIGKILL at {kills} moments of {len(words)} of a write: {survived} resumed exactly"
        )
    assert survived == kills


def test_a_kill_that_tears_a_file_would_be_seen(trainings: Trainings, tmp_path: Path) -> None:
    """The sweep can fail: what lies under the temporary name halfway is not a checkpoint."""
    child = trainings.start(*toys.new(tmp_path), gate_at=["disk"])
    for word in child.words():
        if word.startswith("wrote 4/8") and "optimizer" in word:
            child.kill()
            break
    assert child.wait().code == -9
    (half,) = (tmp_path / "run/checkpoints").glob(".tmp-*")
    assert (half / "optimizer.safetensors").stat().st_size > 0
    with pytest.raises(CheckpointError):
        verify(half)


def test_the_order_of_a_write_survives_a_power_cut(trainings: Trainings, tmp_path: Path) -> None:
    """Data, then its folder, then the name, then the folder of the name, and only then run.json."""
    words = words_of_one_save(trainings, tmp_path)
    named = [i for i, w in enumerate(words) if w.startswith("before replace") and ".tmp-step" in w]
    assert len(named) == 1
    folder = words[named[0]].split()[2]  # its temporary name
    for file in ("weights.safetensors", "optimizer.safetensors", "state.json", "manifest.json"):
        assert words.index(f"after fsync {folder}/{file}") < named[0]
        written = words.index(f"wrote 8/8 {folder}/{file}")
        assert written < words.index(f"before fsync {folder}/{file}")
    assert words.index(f"after fsync {folder}") < named[0]
    parent = words.index(f"after fsync {Path(folder).parent}")
    assert parent > named[0]
    info = [i for i, word in enumerate(words) if "replace" in word and "run.json" in word]
    assert info and min(info) > parent


def told(trainings: Trainings, place: Path, *at: str) -> list[str]:
    """All words of a training that nothing happens to."""
    place.mkdir()
    child = trainings.start(*toys.new(place), gate_at=list(at))
    words = list(child.words())
    assert child.wait().code == 0
    return words


def killed_at(trainings: Trainings, arguments: list[str], number: int, *at: str) -> None:
    """Train until the word of that number, and kill there."""
    child = trainings.start(*arguments, gate_at=list(at))
    for seen, _word in enumerate(child.words()):
        if seen == number:
            child.kill()
            break
    assert child.wait().code == -9, "the run ended before it could be killed"


def spread(kills: int, words: list[str]) -> list[int]:
    """So many of their numbers, from the first to the last."""
    kills = min(kills, len(words))
    return sorted({round(i * (len(words) - 1) / (kills - 1)) for i in range(kills)})


BEGUN = (
    "run: no such folder",
    "run: neither a run (no run.json)",  # it is empty
    "run: a training that was killed before it could write anything",
    "run: a training that was killed while it prepared its data",
)


@pytest.mark.parametrize(
    "kills", [pytest.param(3), pytest.param(1000, marks=pytest.mark.long)], ids=str
)
def test_killed_anywhere_in_the_preparation(
    trainings: Trainings,
    tmp_path: Path,
    straight: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    kills: int,
) -> None:
    """Before the first step nothing can be resumed, and the same command begins again."""
    at = ("prepare", "vocabulary")
    words = told(trainings, tmp_path / "look", *at)
    numbers = spread(kills, words)
    resumed = 0
    for number in numbers:
        place = tmp_path / str(number)
        place.mkdir()
        killed_at(trainings, toys.new(place), number, *at)
        done = trainings.run(*toys.again(place))
        if done.code == 0:
            resumed += 1
        else:
            assert any(clause in done.output for clause in BEGUN), done.output
            done = trainings.run(*toys.new(place))
            assert done.code == 0, done.output
        assert not list((place / "run").rglob(".tmp-*"))
        found = toys.digest(place)
        assert found == {name: straight[name] for name in found}, words[number]
    with capsys.disabled():
        print(
            f"\nSIGKILL at {len(numbers)} moments of {len(words)} of the preparation: {resumed} "
            f"resumed, {len(numbers) - resumed} begun again in the same folder, all the same bits"
        )


@pytest.mark.long
def test_killed_in_validations_averages_and_the_choice_of_final_weights(
    trainings: Trainings,
    tmp_path: Path,
    straight: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    at = ("validation", "average", "finish")
    words = told(trainings, tmp_path / "look", *at)
    assert {"average", "validation 7", "validation 60"} <= set(words)
    for number in range(len(words)):
        place = tmp_path / str(number)
        place.mkdir()
        killed_at(trainings, toys.new(place), number, *at)
        done = trainings.run(*toys.again(place))
        assert done.code == 0, done.output
        assert not list((place / "run").rglob(".tmp-*"))
        found = toys.digest(place)
        assert found == {name: straight[name] for name in found}, words[number]
    with capsys.disabled():
        print(
            f"\nSIGKILL at {len(words)} moments of validations and of the choice "
            "of final weights: all resumed exactly"
        )
