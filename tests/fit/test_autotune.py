"""The self-test before training: measures what the recipe leaves open, and is kept for resuming."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import toy
from refusals import refused
from regard.data.batch import Batch, make_batch
from regard.errors import MisuseError
from regard.fit import autotune
from regard.fit.autotune import Contender, TuningResult, changed_since, choose_compute, tournament
from regard.fit.train import Request, train
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder, write_own_json
from regard.runs.sections import TrainSection
from regard.text.special import Special
from regard.training.compute import Compute
from regard.training.losses import TranslationLoss

CPU = torch.device("cpu")


def groups() -> Iterator[list[Batch]]:
    while True:
        yield [make_batch([([5, 6, 7], [8, 9])] * 4, Special())]


loss_of = TranslationLoss(0.1)


def chosen(section: TrainSection) -> TuningResult:
    return choose_compute(Transformer(preset("tiny", 12)), loss_of, groups, section, CPU)


class Injected(Contender):
    """A way to compute whose steps take the seconds that are told, one after the other."""

    def __init__(self, way: Compute, seconds: list[float], log: list[Compute]) -> None:
        self.way, self.speeds, self.closed = way, [], False
        self._seconds, self._log = seconds, log

    def turn(self, number: int) -> float:
        seconds = self._seconds[number % len(self._seconds)]
        self._log.append(self.way)
        self.speeds.append(100 / seconds)
        return seconds

    def close(self) -> None:
        self.closed = True


def held(
    seconds: dict[Compute, list[float]], half: bool = False
) -> tuple[TuningResult, list[Compute], list[Injected]]:
    """A tournament between ways with these seconds a step: who won, who stepped when."""
    log: list[Compute] = []
    contenders: list[Injected] = []

    def ready(way: Compute) -> Any:
        contenders.append(Injected(way, seconds[way], log))
        return contenders[-1]

    ways = [way for way in seconds if way.precision == "fp32"]
    return tournament(ways, half, ready), log, contenders


def test_the_fastest_layout_is_taken() -> None:
    simple, middle, many = Compute(threads=4), Compute(workers=2, threads=2), Compute(workers=4)
    tuned, _, contenders = held({simple: [0.5], middle: [0.3], many: [0.9]})
    assert tuned.compute == middle
    assert tuned.speeds == {str(simple): 200.0, str(middle): 333.3, str(many): 111.1}
    assert all(one.closed for one in contenders)


@pytest.mark.parametrize(("seconds", "wins"), [(0.46, False), (0.44, True), (0.55, False)])
def test_what_is_more_complicated_must_be_clearly_faster(seconds: float, wins: bool) -> None:
    """11,026 against 16,899 tokens/s were once measured for ways that then ran equally fast."""
    simple, many = Compute(threads=2), Compute(workers=2)
    assert held({simple: [0.5], many: [seconds]})[0].compute == (many if wins else simple)


def test_ways_take_turns_and_one_bad_moment_decides_nothing() -> None:
    simple, many = Compute(threads=2), Compute(workers=2)
    tuned, log, _ = held({simple: [0.2, 1.4, 0.2], many: [0.2, 0.2, 0.2]})
    assert log == [simple, many] * 3
    assert tuned.compute == simple


def test_a_duel_ends_in_time() -> None:
    slow = {Compute(threads=2): [1.7], Compute(workers=2): [1.2]}
    tuned, log, _ = held(slow)
    assert len(log) == 4  # a round begins while less than 3 seconds are spent
    quick = {Compute(threads=2): [0.01], Compute(workers=2): [0.01]}
    assert len(held(quick)[1]) == 18


@pytest.mark.parametrize(("half", "expected"), [(0.25, "bf16"), (0.29, "fp32")])
def test_bf16_only_where_steps_are_clearly_faster(half: float, expected: str) -> None:
    best = Compute("bf16", workers=2)
    seconds = {Compute(threads=2): [0.5], Compute(workers=2): [0.3], best: [half]}
    tuned, _, contenders = held(seconds, half=True)
    assert (tuned.compute.precision, tuned.compute.workers) == (expected, 2)
    assert len(contenders) == 3


@pytest.mark.needs("bf16")
def test_what_the_recipe_fixes_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autotune, "tournament", lambda *given: pytest.fail("measured"))
    monkeypatch.setattr(autotune, "bf16_is_faster", lambda device: False)
    section = TrainSection(threads=6, workers=3, precision="bf16", kernels="plain")
    assert chosen(section).compute == Compute("bf16", 3, 2, "plain")
    assert chosen(TrainSection(threads=1, precision="fp32")).compute == Compute()


def test_measuring_changes_no_weight() -> None:
    """With three ways: two of them have workers, and stand ready at the same time."""
    model = Transformer(preset("tiny", 12))
    before = [weight.detach().clone() for weight in model.parameters()]
    tuned = choose_compute(model, loss_of, groups, TrainSection(threads=4, precision="fp32"), CPU)
    assert len(tuned.speeds) == 3 and min(tuned.speeds.values()) > 0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(weight.grad is None for weight in model.parameters())


def test_other_versions_and_machines_are_named() -> None:
    record = TuningResult(Compute(), {}).record()
    assert changed_since(record) == ""
    assert changed_since({}) == "an earlier version of regard began it"
    other = {**record, "bits": {"torch": "1.0", "cpu": "abacus"}}
    assert changed_since(other).startswith("it was trained with torch 1.0, here is ")
    assert "cpu abacus" in changed_since(other)


@pytest.mark.end_to_end
def test_a_run_of_another_machine_goes_on_only_when_told_to(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    folder = tmp_path / "run"
    assignments = (*toy.SMALL, "train.steps=4", "train.validate_every=2")
    train(
        Request(assignments=assignments, source=source, target=target, folder=folder),
        lambda line: None,
    )
    info = RunFolder(folder).read_info()
    info["bits"]["cpu"] = "abacus"
    write_own_json(RunFolder(folder).info, info)
    with refused(MisuseError, problem="cpu abacus", advice="add --inexact"):
        train(Request(assignments=["train.steps=6"], resume=folder), lambda line: None)
    again = Request(assignments=["train.steps=6"], resume=folder, inexact=True)
    assert train(again, lambda line: None).step == 6
    assert RunFolder(folder).read_info()["bits"]["cpu"] != "abacus"
