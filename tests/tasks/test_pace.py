"""The self-test before training: measures what the recipe leaves open, and is kept for resuming."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import toy
from regard.data.batch import Batch, make_batch
from regard.errors import MisuseError
from regard.model.presets import preset
from regard.model.transformer import Transformer
from regard.tasks import pace
from regard.tasks.pace import Pace, changed_since, choose_compute
from regard.tasks.recipe_sections import TrainSection
from regard.tasks.run import Run
from regard.tasks.train import Request, train
from regard.text.special import Special
from regard.train.compute import Compute
from regard.train.objectives import Translation

CPU = torch.device("cpu")


def groups() -> Iterator[list[Batch]]:
    while True:
        yield [make_batch([([5, 6, 7], [8, 9])] * 4, Special())]


loss_of = Translation(0.1)


def chosen(section: TrainSection) -> Pace:
    return choose_compute(Transformer(preset("tiny", 12)), loss_of, groups, section, CPU)


def speeds(monkeypatch: pytest.MonkeyPatch, known: dict[Compute, float]) -> list[Compute]:
    """Let each way to compute have the speed that is told here; the list of those asked for."""
    asked: list[Compute] = []

    def speed(*arguments: object) -> float:
        way = next(a for a in arguments if isinstance(a, Compute))
        asked.append(way)
        return known[way]

    monkeypatch.setattr(pace, "_speed", speed)
    return asked


def test_the_fastest_layout_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "bf16_is_faster", lambda device: False)
    known = {
        Compute(workers=4): 10.0,
        Compute(workers=2, threads=2): 30.0,
        Compute(threads=4): 20.0,
    }
    speeds(monkeypatch, known)
    found = chosen(TrainSection(threads=4))
    assert found.compute == Compute(workers=2, threads=2)
    assert sorted(found.speeds.values()) == [10, 20, 30]


@pytest.mark.parametrize(("half", "expected"), [(50.0, "bf16"), (29.0, "fp32")])
def test_bf16_only_where_steps_are_faster(
    monkeypatch: pytest.MonkeyPatch, half: float, expected: str
) -> None:
    monkeypatch.setattr(pace, "bf16_is_faster", lambda device: True)
    best = Compute("bf16", workers=2)
    speeds(monkeypatch, {Compute(workers=2): 30.0, Compute(threads=2): 20.0, best: half})
    assert chosen(TrainSection(threads=2)).compute == Compute(
        "bf16" if expected == "bf16" else "fp32", workers=2
    )


def test_what_the_recipe_fixes_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = speeds(monkeypatch, {})
    section = TrainSection(threads=6, workers=3, precision="bf16", kernels="plain")
    assert chosen(section).compute == Compute("bf16", 3, 2, "plain")
    assert chosen(TrainSection(threads=1, precision="fp32")).compute == Compute()
    assert not asked


def test_measuring_changes_no_weight() -> None:
    model = Transformer(preset("tiny", 12))
    before = [weight.detach().clone() for weight in model.parameters()]
    found = choose_compute(model, loss_of, groups, TrainSection(threads=2, precision="fp32"), CPU)
    assert len(found.speeds) == 2 and min(found.speeds.values()) > 0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(weight.grad is None for weight in model.parameters())


def test_other_versions_and_machines_are_named() -> None:
    record = Pace(Compute(), {}).record()
    assert changed_since(record) == ""
    assert changed_since({}) == "an earlier version of regard began it"
    other = {**record, "bits": {"torch": "1.0", "cpu": "abacus"}}
    assert changed_since(other).startswith("it was trained with torch 1.0, here is ")
    assert "cpu abacus" in changed_since(other)


@pytest.mark.end_to_end
def test_a_run_of_another_machine_goes_on_only_when_told_to(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    folder = tmp_path / "run"
    asked = (*toy.SMALL, "train.steps=4", "train.validate_every=2")
    train(
        Request(assignments=asked, source=source, target=target, folder=folder), lambda line: None
    )
    info = Run(folder).read_info()
    info["bits"]["cpu"] = "abacus"
    Run(folder).info.write_text(json.dumps(info), encoding="utf-8")
    with pytest.raises(MisuseError, match="cpu abacus.*add --inexact"):
        train(Request(assignments=["train.steps=6"], resume=folder), lambda line: None)
    again = Request(assignments=["train.steps=6"], resume=folder, inexact=True)
    assert train(again, lambda line: None).step == 6
    assert Run(folder).read_info()["bits"]["cpu"] != "abacus"
