"""What is chosen for texts with labels: more rows, a larger model and fewer epochs."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from regard.data.report import Report
from regard.prepare.default_classifier import SIZES, chosen_text_tables
from regard.prepare.texts import Texts
from regard.runs.recipe import make_recipe
from regard.runs.sections import DataSection


def chosen(rows: int, characters: int = 70, **options: Any) -> dict[str, Any]:
    report = Report(total=rows, kept=rows)
    data = DataSection(texts=Path("t.csv"))
    texts = Texts(data, 1, report, counts=Counter("ab"), characters=rows * characters)
    return chosen_text_tables(texts, options.get("minutes"), options.get("further", False))


@pytest.mark.parametrize("rows", [20, 200, 999, 1_000, 20_000, 400_000, 5_000_000])
def test_every_choice_is_a_recipe(rows: int) -> None:
    tables = {"objective": "classify", **chosen(rows)}
    tables["data"] = {**tables["data"], "texts": "t.csv"}
    recipe = make_recipe(tables, "test")
    train = recipe.train
    assert 0 < train.warmup < train.steps and train.validate_every <= train.steps
    assert -(-train.steps // train.validate_every) <= 10
    assert recipe.spec(4000).encoder_layers <= 6


def test_steps_are_epochs_of_the_tokens() -> None:
    small, large = chosen(200)["train"], chosen(20_000)["train"]
    assert small["steps"] == round(40 * 200 * 22 / 1024)
    assert large["steps"] == round(8 * 20_000 * 22 / 1024)
    assert (small["choose_by"], large["choose_by"]) == ("loss", "score")
    longer = chosen(20_000, characters=70_000)["train"]["steps"]
    assert longer == round(8 * 20_000 * 128 / 1024)  # a text is cut at so many tokens
    assert "minutes" not in small and chosen(200, minutes=3.0)["train"]["minutes"] == 3.0


def test_a_model_that_is_given_is_changed_little() -> None:
    tables = chosen(20_000, further=True)
    assert tables["model"] == {"dropout": 0.1} and "tokenizer" not in tables
    assert tables["train"]["rate"] < chosen(20_000)["train"]["rate"] / 10


def test_the_table_of_sizes_rises() -> None:
    assert [size.below for size in SIZES] == sorted(size.below for size in SIZES)
    assert [size.epochs for size in SIZES] == sorted((size.epochs for size in SIZES), reverse=True)
