"""Schedules in a training: the rates the log shows, exact resume with one that has a state."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import toy
from halting import ask, digest, go, go_with_halts
from regard.checkpoint.files import folder_name, read_own_json, steps_saved
from regard.errors import ConfigError
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.rates import rate_at, validation_due, validation_is_dear, with_warmup_and_interval
from regard.runs.recipe import make_recipe
from regard.runs.sections import TrainSection
from regard.training.schedule import cosine
from regard.training.state import Progress

PLATEAU = (
    "train.schedule=plateau",
    "train.rate=0.05",  # too high on purpose: validation gets worse
    "train.floor=0.001",
    "train.warmup=4",
    "train.plateau_patience=1",
    "train.validate_every=4",
)


def rates(run: Path) -> dict[int, float]:
    return {
        r["step"]: r["learning_rate"] for r in read_log(run / "log.jsonl") if r["kind"] == "train"
    }


@pytest.mark.end_to_end
def test_cosine_ends_at_its_floor(tmp_path: Path) -> None:
    keys = ("train.schedule=cosine", "train.rate=0.01", "train.floor=0.002", "train.warmup=10")
    go(ask(tmp_path, *keys, steps=30))
    assert rates(tmp_path / "run") == pytest.approx({1: 0.001, 10: 0.01, 20: 0.006, 30: 0.002})


@pytest.mark.end_to_end
def test_plateau_cuts_and_resumes_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(ask(tmp_path / "straight", *PLATEAU))
    straight = tmp_path / "straight/run"
    *_, last = shown = list(rates(straight).values())
    assert shown[0] < max(shown) > last  # warm-up, and cut at least once
    go_with_halts(ask(tmp_path / "halted", *PLATEAU), [9, 10, 26], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(straight)


BY_MINUTES = TrainSection(minutes=2.0, schedule="cosine", rate=0.01, warmup=400)


def simulated(train: TrainSection, seconds_of: Callable[[int], float], guess: float) -> list[float]:
    """The rates of a training whose steps take as long as `seconds_of` says."""
    progress, rates = Progress(expected=guess), []
    assert train.minutes is not None
    while progress.seconds < 60 * train.minutes:
        progress.step += 1
        rates.append(rate_at(progress.step, train, 64, progress))
        progress.seconds += seconds_of(progress.step)
    return rates


@pytest.mark.parametrize(
    "seconds_of",
    [lambda step: 0.05, lambda step: 3.0, lambda step: 0.1 if step < 300 else 0.4],
    ids=["fast", "slow", "slower in the end"],
)
@pytest.mark.parametrize("guess", [20.0, 1e4], ids=["guessed too slow", "guessed too fast"])
def test_by_minutes_the_rate_is_down_when_they_are_over(
    seconds_of: Callable[[int], float], guess: float
) -> None:
    """The machine, and what was thought of it before, change how many steps there are, not this."""
    rates = simulated(BY_MINUTES, seconds_of, guess)
    assert rates[-1] < 1e-4 * BY_MINUTES.rate
    assert max(rates) > 0.97 * BY_MINUTES.rate
    assert rates.index(max(rates)) <= 0.25 * len(rates)
    assert all(rate > 0 for rate in rates[:-2])


def test_whichever_ends_first_is_the_end_of_the_wave() -> None:
    by_steps = replace(BY_MINUTES, steps=100)
    rates = simulated(by_steps, lambda step: 0.1, 1200)[:100]
    assert rates[99] == 0.0
    assert rates == [cosine(step, 0.01, 10, 100) for step in range(1, 101)]  # no clock in it


def test_a_run_that_gets_more_minutes_goes_on_at_the_share_it_has_now() -> None:
    half = Progress(step=100, seconds=60.0)
    assert rate_at(101, replace(BY_MINUTES, minutes=1.0), 64, half) == pytest.approx(0.0)
    share = (60.6 / 120 - 0.1) / 0.9
    assert rate_at(101, BY_MINUTES, 64, half) == pytest.approx(
        0.01 * (1 + math.cos(math.pi * share)) / 2
    )


def test_what_minutes_leave_open_follows_from_the_steps_they_allow() -> None:
    noam = with_warmup_and_interval(TrainSection(minutes=3.0), expected=400)
    assert (noam.warmup, noam.validate_every) == (40, 0)
    own = with_warmup_and_interval(
        TrainSection(minutes=3.0, warmup=500, validate_every=70), expected=400
    )
    assert (own.warmup, own.validate_every) == (500, 70)  # a recipe's own keep their meaning


@pytest.mark.parametrize("minutes", [0.5, 3.0, 30.0])
@pytest.mark.parametrize("cost", [0.0, 0.08], ids=["free", "dear"])
def test_by_minutes_there_are_four_validations_or_more(minutes: float, cost: float) -> None:
    train, progress, count = TrainSection(minutes=minutes), Progress(), 1  # the one at the end
    while progress.seconds < 60 * minutes:
        progress.step, progress.seconds = progress.step + 1, progress.seconds + 0.1
        if validation_due(train, progress):
            count += 1
            progress.seconds += cost * 60 * minutes
            progress.validated = progress.seconds
    assert count >= 4 and count <= max(5, minutes / 2)


def test_a_validation_that_takes_long_measures_the_loss_alone_next_time() -> None:
    slow = Progress(validation_seconds=9.0)
    assert validation_is_dear(TrainSection(minutes=2.0), slow)  # one every 20 seconds
    assert not validation_is_dear(TrainSection(minutes=6.0), slow)  # one every minute
    for own in ({"validate_every": 100}, {"choose_by": "score"}):
        assert not validation_is_dear(TrainSection(minutes=2.0, **own), slow)  # type: ignore[arg-type]


@pytest.mark.end_to_end
def test_own_files_for_some_seconds_end_at_a_rate_of_nothing(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    request = Request(
        source=source,
        target=target,
        minutes=0.1,
        assignments=toy.SMALL,
        folder=tmp_path / "run",
    )
    said = "\n".join(go(request))
    assert "Schedule:   about " in said and "come on top" in said
    run = RunFolder(tmp_path / "run")
    info, stored = run.read_info(), json.loads(run.recipe.read_text())["train"]
    assert (info["ended"], stored["steps"], stored["validate_every"]) == ("minutes", None, 0)
    records = read_log(run.log)
    last = [r for r in records if r["kind"] == "train"][-1]
    state = json.loads(newest_state(run).read_text())
    assert last["learning_rate"] < stored["rate"]  # of up to ten steps before the end
    end = Progress(**{**state, "recent": ()})
    train = make_recipe(read_own_json(run.recipe), "r").train
    assert rate_at(end.step + 1, train, 32, end) == 0.0
    assert records[-1]["kind"] == "validation" and records[-1]["step"] == end.step


def newest_state(run: RunFolder) -> Path:
    return run.checkpoints / folder_name(steps_saved(run.checkpoints)[-1]) / "state.json"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"schedule": "cosin"}, "expected one of 'noam', 'cosine'"),
        ({"schedule": "cosine", "floor": 0.1, "rate": 0.01}, "floor: got 0.1, above the rate 0.01"),
        ({"plateau_factor": 1.5}, "expected 0 < factor < 1"),
        ({"schedule": "plateau", "patience": 3}, "raise patience, or set it to 0"),
    ],
)
def test_wrong_schedules_are_named(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_recipe({"data": {"phrasebook": "de"}, "train": keys}, "r.toml")
