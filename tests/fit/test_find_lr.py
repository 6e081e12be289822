"""The range test: a curve with a known answer, and a training that gets better by it."""

import math
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import toy
from regard.cli.main import group
from regard.errors import TrainingError
from regard.fit.find_lr import (
    HIGHEST,
    LOWEST,
    QUIET,
    STEPS,
    best_rate,
    exploded,
    find_rate,
    quiet_part,
    rate_at,
    running_mean,
)
from regard.fit.train import Request


def test_the_rate_rises_by_the_same_factor() -> None:
    rates = [rate_at(STEPS)(step) for step in range(1, STEPS + 1)]
    assert rates[0] == pytest.approx(LOWEST) and rates[-1] == pytest.approx(HIGHEST)
    ratios = {round(b / a, 9) for a, b in zip(rates, rates[1:], strict=False)}
    assert len(ratios) == 1 and ratios.pop() > 1


def test_the_running_mean_by_hand() -> None:
    """β = 0.9: of 4 and 2 the mean is (0.9 · 4 + 2) / 1.9."""
    assert running_mean([4.0, 2.0]) == pytest.approx([4.0, 5.6 / 1.9])
    assert running_mean([3.0] * 20) == pytest.approx([3.0] * 20)


def test_the_steepest_place_of_a_known_curve() -> None:
    """loss = 8 - 5 σ(3 (log10 rate + 3)): steepest at rate 1e-3; then it explodes."""
    rates = [rate_at(STEPS)(step) for step in range(1, STEPS + 1)]
    losses = [8 - 5 / (1 + math.exp(-3 * (math.log10(r) + 3))) + 1e3 * r**3 for r in rates]
    assert best_rate(rates, losses, *quiet_part(losses)) == pytest.approx(1e-3, rel=0.15)


def noisy(level: float, noise: float, steps: int, seed: int) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(level, noise) for _ in range(steps)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_answer(seed: int) -> None:
    """A classifier of two classes whose small batches have losses of 0.7 ± 0.25."""
    losses = noisy(0.7, 0.25, STEPS, seed)
    rates = [rate_at(STEPS)(step) for step in range(1, STEPS + 1)]
    assert not any(exploded(losses[:count]) for count in range(1, STEPS + 1))
    with pytest.raises(TrainingError, match="no answer.*Raise train.token_budget"):
        best_rate(rates, running_mean(losses), *quiet_part(losses))


@pytest.mark.parametrize("seed", range(20))
def test_a_fall_is_found_under_noise(seed: int) -> None:
    """The same noise, and a loss that falls to a third between rates of 1e-3 and 1e-2."""
    rates = [rate_at(STEPS)(step) for step in range(1, STEPS + 1)]
    falls = [0.5 / (1 + math.exp(-4 * (math.log10(rate) + 2.5))) for rate in rates]
    losses = [n - f for n, f in zip(noisy(0.7, 0.15, STEPS, seed), falls, strict=True)]
    assert not any(exploded(losses[:count]) for count in range(1, STEPS + 1))
    assert 3e-4 < best_rate(rates, running_mean(losses), *quiet_part(losses)) < 0.1


def test_a_loss_that_never_falls_has_no_best_rate() -> None:
    losses = [5.0 + step / 100 for step in range(STEPS)]
    rates = [rate_at(STEPS)(step) for step in range(1, STEPS + 1)]
    with pytest.raises(TrainingError, match="the loss fell by 0 from"):
        best_rate(rates, running_mean(losses), *quiet_part(losses))


def test_a_test_that_ends_at_once_has_no_answer() -> None:
    """A loss that is no number after three steps."""
    with pytest.raises(TrainingError, match="no answer. In 3 steps"):
        best_rate([1e-6, 1e-5, 1e-4], [5.0, 4.0, 3.0], *quiet_part([5.0, 4.0, 3.0]))


def test_when_a_loss_has_exploded() -> None:
    quiet, fallen = [8.0] * QUIET, [4.0] * 40
    assert not exploded([8.0, 4.0, 90.0])  # the rates of the first steps explode nothing
    assert not exploded([*quiet, *fallen])
    assert not exploded([*quiet, *fallen, 4.5, 4.5])
    assert exploded([*quiet, *fallen, *[8.0] * 5])


def asked(tmp_path: Path) -> Request:
    source, target = toy.write(tmp_path, 600)
    changes = (*toy.SMALL, "train.warmup=50", "train.factor=0.0001")  # so the paper's schedule
    return Request(source=source, target=target, assignments=changes)


@pytest.mark.end_to_end
def test_it_finds_a_rate_that_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = find_rate(asked(tmp_path))
    assert 1e-4 < test.chosen < 0.1
    key, value = test.setting.split("=")
    assert key == "train.factor"
    assert float(value) == pytest.approx(test.chosen * (32 * 50) ** 0.5, rel=0.05)
    assert test.before == pytest.approx(0.0001 / (32 * 50) ** 0.5)
    assert min(test.smooth) < test.smooth[0] - 0.5
    again = find_rate(asked(tmp_path))
    assert again.losses == test.losses  # the same weights, batches and masks
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.de", "a.en"]  # no run is left


@pytest.mark.end_to_end
@pytest.mark.parametrize("seed", [1, 2])
def test_a_small_classifier_gets_a_rate_that_trains_or_none(tmp_path: Path, seed: int) -> None:
    """200 texts of two classes; the test once stopped after three steps and said 1.1e-06."""
    chance, rows = random.Random(seed), ["text\tlabel"]
    for number in range(200):
        label = ("good", "bad")[number % 2]
        words = [chance.choice(list(toy.WORDS)) for _ in range(6)]
        rows.append(" ".join([*words, f"{label}-{chance.randint(1, 5)}"]) + f"\t{label}")
    (tmp_path / "texts.tsv").write_text("\n".join(rows) + "\n")
    recipe = tmp_path / "two.toml"
    recipe.write_text(
        f'objective = "classify"\n[data]\ntexts = "{tmp_path}/texts.tsv"\nvalidation = 20\n'
        "[tokenizer]\nsize = 300\n[model]\nd_model = 32\nencoder_layers = 1\nheads = 2\n"
        "ffn_size = 64\n[train]\nsteps = 200\ntoken_budget = 128\nthreads = 1\nworkers = 1\n"
        f'schedule = "cosine"\nrate = 2e-3\nseed = {seed}\n'
    )
    try:
        test = find_rate(Request(recipe=recipe))
    except TrainingError as none:
        assert "no answer" in str(none) and none.exit_code == 1
    else:
        assert len(test.rates) > QUIET and 1e-4 < test.chosen < 0.2


@pytest.mark.end_to_end
def test_the_command_prints_a_table_and_draws(tmp_path: Path) -> None:
    request = asked(tmp_path)
    png, svg = tmp_path / "rates.png", tmp_path / "rates.svg"
    arguments = ["--source", str(request.source), "--target", str(request.target)]
    files = ["--png", str(png), "--svg", str(svg)]
    done = CliRunner().invoke(
        group, ["train", "--find-lr", *arguments, *files, *request.assignments]
    )
    assert done.exit_code == 0, done.output
    assert "try train.factor=" in done.stdout
    assert done.stdout.count(" ←") == 1
    assert png.read_bytes().startswith(b"\x89PNG") and "<svg" in svg.read_text()


def test_pictures_belong_to_the_range_test(tmp_path: Path) -> None:
    done = CliRunner().invoke(group, ["train", "r.toml", "--png", "x.png"])
    assert done.exit_code == 2 and "belong to --find-lr" in done.output
    both = CliRunner().invoke(group, ["train", "r.toml", "--find-lr", "--find-batch"])
    assert both.exit_code == 2
