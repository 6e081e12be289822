"""Killed at random steps, twice within an epoch, with and without loaders: every bit is the same.

The examples of every step are compared too, in their order.
"""

import random
from pathlib import Path

import pytest

from regard.checkpoint.files import folder_name, read_own_json
from reliability import toys
from reliability.forks import Trainings

pytestmark = pytest.mark.end_to_end


def kill_at_step(trainings: Trainings, arguments: list[str], step: int, examples: Path) -> None:
    child = trainings.start(*arguments, gate_at=["step"], examples=str(examples))
    for word in child.words():
        if word == f"step {step}":
            child.kill()
            break
    assert child.wait().code == -9


def first_epoch(straight: dict[str, str]) -> int:
    """Steps of the first epoch: until an example comes for the second time."""
    seen: set[int] = set()
    for step, times in sorted(toys.examples(Path(straight["examples"])).items()):
        if seen & set(times[0]):
            return step - 1
        seen |= set(times[0])
    raise AssertionError("more than one epoch is needed")


@pytest.mark.parametrize("loaders", [pytest.param(0, marks=pytest.mark.long), 2])
@pytest.mark.parametrize(
    "kills", [pytest.param(4), pytest.param(25, marks=pytest.mark.long)], ids=str
)
def test_no_bit_and_no_example_differs(
    trainings: Trainings,
    tmp_path: Path,
    straight: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    loaders: int,
    kills: int,
) -> None:
    epoch = first_epoch(straight)
    assert 2 * toys.EVERY < epoch < toys.STEPS - toys.EVERY
    chance = random.Random()
    twice = [toys.EVERY + 2, 2 * toys.EVERY + 2]  # in the first epoch, with progress between
    boundary = [epoch, epoch + 1, epoch + 2]
    wanted = [*twice, chance.choice(boundary), toys.STEPS - 1]
    wanted += [chance.randint(1, toys.STEPS) for _ in range(kills - len(wanted))]
    arguments = toys.new(tmp_path, f"train.loaders={loaders}")
    for step in sorted(wanted):
        kill_at_step(trainings, arguments, step, tmp_path / "examples")
        arguments = toys.again(tmp_path)
    done = trainings.run(*arguments, examples=str(tmp_path / "examples"))
    assert done.code == 0, done.output
    found = toys.digest(tmp_path)
    assert found == {name: straight[name] for name in found}
    expected = toys.examples(Path(straight["examples"]))
    got = toys.examples(tmp_path / "examples")
    assert set(got) == set(expected)
    repeated = 0
    for step, times in got.items():
        assert set(times) == set(expected[step]), f"step {step}"
        repeated += len(times) - 1
    assert repeated > 0  # steps were really done again
    with capsys.disabled():
        print(f"\n{kills} kills, {loaders} loaders: 0 bits differ; {repeated} steps done again")


def test_the_comparison_can_fail(
    trainings: Trainings, tmp_path: Path, straight: dict[str, str]
) -> None:
    """A checkpoint that forgets its place in the data gives other examples and other bits."""
    kill_at_step(trainings, toys.new(tmp_path), toys.EVERY + 2, tmp_path / "examples")
    _forget_place(tmp_path / "run/checkpoints" / folder_name(toys.EVERY))
    done = trainings.run(*toys.again(tmp_path), examples=str(tmp_path / "examples"))
    assert done.code == 0, done.output
    assert toys.digest(tmp_path)["weights"] != straight["weights"]
    expected = toys.examples(Path(straight["examples"]))
    got = toys.examples(tmp_path / "examples")
    assert got[toys.EVERY + 3] != expected[toys.EVERY + 3]


def _forget_place(folder: Path) -> None:
    """Change state.json and, as only a programmer's mistake could, its checksum with it."""
    import hashlib
    import json

    state = read_own_json(folder / "state.json") | {"batch": 0}
    text = json.dumps(state, indent=2) + "\n"
    (folder / "state.json").write_text(text)
    manifest = read_own_json(folder / "manifest.json")
    del manifest["manifest"]
    manifest["sha256"]["state.json"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
