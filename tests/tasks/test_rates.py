"""Schedules in a training: the rates the log shows, exact resume with one that has a state."""

from pathlib import Path

import pytest

from halting import ask, digest, go, go_with_halts
from regard.errors import ConfigError
from regard.tasks.log import read_log
from regard.tasks.recipe import make_recipe

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
    assert len(set(rates(straight).values())) >= 3  # warm-up, and cut at least once
    go_with_halts(ask(tmp_path / "halted", *PLATEAU), [9, 10, 26], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(straight)


def test_a_cosine_without_an_end_is_refused(tmp_path: Path) -> None:
    asked = ask(tmp_path, "train.schedule=cosine", "train.minutes=5", "train.steps=100000")
    with pytest.raises(ConfigError, match="set it to what 5 minutes allow"):
        go(asked)


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
