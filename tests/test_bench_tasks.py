"""The benchmark of tasks: its trainings are recipes that can be made, and none is made twice."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bench/tasks.py, which imports its neighbours by name."""
    monkeypatch.syspath_prepend(BENCH)
    spec = importlib.util.spec_from_file_location("bench_tasks", BENCH / "tasks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_tasks", module)
    spec.loader.exec_module(module)
    return module


def test_every_training_is_a_recipe(bench: ModuleType) -> None:
    tables = bench.recipe()
    asked: dict[str, Any] = {
        "one": bench.with_steps(tables, 600),
        "alone": bench.alone(tables, "tag", 100),
        "holes": bench.with_holes(tables, 300),
        "begun": bench.begun_with(tables, Path("runs/holes"), 80),
    }
    made = {name: make_recipe(each, name) for name, each in asked.items()}
    steps = {name: each.train.steps for name, each in made.items()}
    assert steps == {"one": 600, "alone": 100, "holes": 300, "begun": 80}
    assert [task.name for task in made["alone"].data.tasks] == ["tag"]
    assert made["alone"].data.tasks[0].weight == 1.0
    assert made["holes"].own.corrupt and not made["holes"].data.tasks
    assert made["begun"].train.start_from == Path("runs/holes")
    assert len(tables["data"]["tasks"]) == len(made["one"].data.tasks) == 5
    assert made["one"].train.warmup == round(
        600 / tables["train"]["steps"] * tables["train"]["warmup"]
    )


def test_shares_are_those_of_an_epoch(bench: ModuleType) -> None:
    shares = bench.shares(bench.recipe())
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["en-de"] == pytest.approx(2 * shares["tag"])


def test_a_finished_run_is_not_trained_again(bench: ModuleType, tmp_path: Path) -> None:
    RunFolder(tmp_path).update_info(state="finished")
    assert bench.trained(tmp_path, {}, {}) == tmp_path
