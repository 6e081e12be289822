"""A loss far above the usual: one is skipped, three in a row lead back to the last checkpoint."""

from pathlib import Path

import pytest

from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from reliability import toys
from reliability.forks import Trainings

pytestmark = pytest.mark.end_to_end

STEPS = 160
CHANGES = (
    f"train.steps={STEPS}",
    "train.validate_every=20",
    "train.schedule=cosine",  # towards the end small steps: what is compared is where they lead to
    "train.rate=0.003",
    "train.warmup=20",
)


@pytest.fixture(scope="module")
def clean(
    trainings: Trainings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[int, tuple[int, ...]]]:
    """A run without trouble, and which examples each of its steps used."""
    place = tmp_path_factory.mktemp("clean")
    done = trainings.run(*toys.new(place, *CHANGES), examples=str(place / "examples"))
    assert done.code == 0, done.output
    records = read_log(place / "run/log.jsonl")
    assert not [r for r in records if r["kind"] == "skipped"]  # no false alarm
    return place, {step: times[0] for step, times in toys.examples(place / "examples").items()}


def unique_from(examples: dict[int, tuple[int, ...]], first: int, count: int) -> int:
    """The first of `count` steps in a row whose batches come nowhere else in the run."""
    batches = list(examples.values())
    for step in range(first, first + 8):
        if all(batches.count(examples[s]) == 1 for s in range(step, step + count)):
            return step
    raise AssertionError("all batches come twice")


def last_loss(place: Path) -> float:
    checks = [r for r in read_log(place / "run/log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["step"] == STEPS
    return float(checks[-1]["loss"])


def test_one_spike_is_skipped(
    trainings: Trainings, tmp_path: Path, clean: tuple[Path, dict[int, tuple[int, ...]]]
) -> None:
    place, examples = clean
    step = unique_from(examples, 125, 1)
    done = trainings.run(*toys.new(tmp_path, *CHANGES), spikes=[examples[step]])
    assert done.code == 0, done.output
    (record,) = [r for r in read_log(tmp_path / "run/log.jsonl") if r["kind"] == "skipped"]
    assert record["step"] == step and "jumped" in record["reason"] and record["loss"] > 50
    assert tuple(record["examples"]) == examples[step]
    assert last_loss(tmp_path) == pytest.approx(last_loss(place), rel=0.01)


def test_early_losses_are_no_spikes(
    trainings: Trainings, tmp_path: Path, clean: tuple[Path, dict[int, tuple[int, ...]]]
) -> None:
    """Before there are 100 steps to compare with, nothing is called a spike."""
    _, examples = clean
    done = trainings.run(*toys.new(tmp_path, *CHANGES), spikes=[examples[50]])
    assert done.code == 0 and "skipped" not in done.output


def test_three_in_a_row_lead_back_and_kills_change_no_bit(
    trainings: Trainings,
    tmp_path: Path,
    clean: tuple[Path, dict[int, tuple[int, ...]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    place, examples = clean
    bad = unique_from(examples, 126, 3)  # 126 to 133: after a checkpoint at 120, before 140
    spikes = [examples[step] for step in range(bad, bad + 3)]
    for name in ("straight", "killed"):
        (tmp_path / name).mkdir()
    seen = tmp_path / "examples"
    done = trainings.run(
        *toys.new(tmp_path / "straight", *CHANGES), spikes=spikes, examples=str(seen)
    )
    assert done.code == 0, done.output
    assert f"step {bad + 2}: back to the weights of step 120" in done.output
    records = read_log(tmp_path / "straight/run/log.jsonl")
    assert [r["to"] for r in records if r["kind"] == "rollback"] == [120]
    used = toys.examples(seen)
    assert used[121][1] == examples[bad + 3]  # past the trouble, not into it again
    assert last_loss(tmp_path / "straight") == pytest.approx(last_loss(place), rel=0.01)

    arguments = toys.new(tmp_path / "killed", *CHANGES)
    # before the spikes; between them, politely; after the return, by force and politely; later
    for stop, step in ((9, 125), (15, bad + 1), (9, 123), (15, 124), (9, 150)):
        child = trainings.start(*arguments, spikes=spikes, gate_at=["step"])
        for word in child.words():
            if word == f"step {step}":
                child.kill(stop)
                break
        assert child.wait().code in (-9, 143)
        arguments = toys.again(tmp_path / "killed")
    done = trainings.run(*arguments, spikes=spikes)
    assert done.code == 0, done.output
    assert toys.digest(tmp_path / "killed", STEPS) == toys.digest(tmp_path / "straight", STEPS)
    with capsys.disabled():
        loss = last_loss(tmp_path / "straight")
        print(f"\nloss after a return {loss:.4f}, without trouble {last_loss(place):.4f}")


def test_it_does_not_go_back_for_ever(
    trainings: Trainings, tmp_path: Path, clean: tuple[Path, dict[int, tuple[int, ...]]]
) -> None:
    """Every batch from some step on is bad: three returns, then the end with code 3."""
    _, examples = clean
    spikes = [examples[step] for step in range(125, STEPS)]
    done = trainings.run(*toys.new(tmp_path, *CHANGES), spikes=spikes)
    assert done.code == 3, done.output
    assert done.output.count("back to the weights of step 120") == 3
    assert RunFolder(tmp_path / "run").read_info()["state"] == "failed"
    assert len(list((tmp_path / "run").glob("dump-step-*"))) == 1
