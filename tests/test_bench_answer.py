"""The benchmark of answers: its files, its baseline, and trainings that are recipes."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from regard.config import read_toml
from regard.recipes.named import recipe_file
from regard.runs.recipe import make_recipe

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bench/answer.py, which imports its neighbours by name."""
    monkeypatch.syspath_prepend(BENCH)
    spec = importlib.util.spec_from_file_location("bench_answer", BENCH / "answer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_answer", module)
    spec.loader.exec_module(module)
    return module


def test_the_sentence_with_the_most_words_of_the_question(bench: ModuleType) -> None:
    text = "Ada won the race. Bob came second in the race of 1833. It rained."
    asked = "When was the race that Bob won second?"
    assert bench.overlap_sentence(asked, text) == "Bob came second in the race of 1833."
    assert bench.overlap_sentence("What rained?", text) == "It rained."
    assert bench.overlap_sentence("Why?", text) == "Ada won the race."  # none has any: the first


def test_paragraphs_are_in_one_part_only(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    articles = [
        {
            "title": title,
            "paragraphs": [
                {"context": f"{title} {n}", "qas": [{"question": f"{n}{m}?"} for m in range(5)]}
                for n in range(8)
            ],
        }
        for title in ("one", "two", "test")
    ]
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa/xquad.en.json").write_text(json.dumps({"data": articles}))
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    monkeypatch.setattr(bench, "HELD_OUT", 12)
    files = bench.split({"answer": {"leave_out": ["test"]}}, tmp_path / "data", [10, 99])
    parts = {
        name: json.loads((tmp_path / "data" / name).read_text())["data"]
        for name in ("dev.json", "train-10.json", "train-99.json")
    }
    contexts = {
        name: [p["context"] for article in data for p in article["paragraphs"]]
        for name, data in parts.items()
    }
    count = {
        name: sum(len(p["qas"]) for article in data for p in article["paragraphs"])
        for name, data in parts.items()
    }
    assert count == {"dev.json": 12, "train-10.json": 10, "train-99.json": 80 - 15}
    assert not {*contexts["dev.json"]} & {*contexts["train-99.json"]}
    assert {*contexts["train-10.json"]} < {*contexts["train-99.json"]}
    assert not any(context.startswith("test") for each in contexts.values() for context in each)
    tables = read_toml(recipe_file(Path("answer")))
    recipe = make_recipe(bench.recipe_for(tables, files[10], 10, 3, 0.5), "r")
    assert recipe.train.seed == 3 and recipe.own.no_answer == 0.5 and not recipe.own.leave_out
    assert recipe.data.texts == files[10] and recipe.data.valid_texts == tmp_path / "data/dev.json"
    assert recipe.train.steps is not None and recipe.train.steps < tables["train"]["steps"] / 5
