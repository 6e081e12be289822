"""What is said of choices that learn slowly, and when nothing is."""

import pytest

from regard.fit.slow_choices import slow_choices
from regard.model.presets import preset
from regard.model.spec import Spec
from regard.runs.sections import TrainSection

POST, PRE = preset("small", 320), preset("small", 320, norm_order="pre")


def test_post_norm_in_a_short_run_names_its_figures() -> None:
    (line,) = slow_choices(TrainSection(steps=1000, warmup=100), POST, None)
    assert line.startswith("1,000 steps are few for post-norm")
    assert "BLEU 15.5, what regard chooses to 31" in line and "model.norm_order=pre" in line
    (line,) = slow_choices(TrainSection(minutes=7, warmup=400), POST, 912.3)
    assert line.startswith("about 912 steps are few")


@pytest.mark.parametrize(
    ("train", "spec", "expected"),
    [
        (TrainSection(steps=1000, warmup=100), PRE, None),
        (TrainSection(steps=2000, warmup=100), POST, None),
        (TrainSection(minutes=60, warmup=400), POST, 9000.0),
        (TrainSection(steps=60, warmup=100), POST, None),  # somebody tries things out
        (TrainSection(steps=1000), preset("gpt-tiny", 320), None),
    ],
)
def test_nothing_is_said(train: TrainSection, spec: Spec, expected: float | None) -> None:
    assert list(slow_choices(train, spec, expected)) == []


def test_a_warm_up_longer_than_the_run() -> None:
    (line,) = slow_choices(TrainSection(steps=500, warmup=4000), PRE, None)
    # training/schedule.py: in the warm-up every rate is step / warmup of its peak.
    assert "(4,000 steps)" in line and "12% of its peak" in line
    assert not list(slow_choices(TrainSection(minutes=3, warmup=4000), PRE, 500.0))
