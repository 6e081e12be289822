"""Without a recipe: more pairs, larger model; and the chosen tables are a valid recipe."""

from pathlib import Path

import pytest

from regard.prepare.default_translator import SIZES, Size, choose_size, chosen_tables
from regard.runs.recipe import make_recipe


@pytest.mark.parametrize(
    ("pairs", "preset"),
    [(10, "tiny"), (999, "tiny"), (50_000, "tiny"), (200_000, "small"), (5_000_000, "base")],
)
def test_sizes(pairs: int, preset: str) -> None:
    assert choose_size(pairs).preset == preset


@pytest.mark.parametrize("size", SIZES)
def test_every_size_makes_a_recipe(size: Size) -> None:
    pairs = int(min(size.below, 10**7)) - 1
    tables = chosen_tables(Path("a.en"), Path("a.de"), pairs, None)
    recipe = make_recipe(tables, "train")
    assert recipe.train.minutes == 30
    assert recipe.data.source is not None and recipe.data.source.is_absolute()
    assert make_recipe(chosen_tables(Path("a.tsv"), None, 5, 2), "t").train.minutes == 2
    assert recipe.train.schedule == "cosine" and recipe.train.steps is None


def test_steps_that_are_asked_for_leave_the_clock_out() -> None:
    """A run by steps ends with the same bits everywhere; half an hour by default would not."""
    tables = chosen_tables(Path("a.tsv"), None, 5, None, ["train.steps=300"])
    assert "minutes" not in tables["train"]
    both = chosen_tables(Path("a.tsv"), None, 5, 2, ["train.steps=300"])
    assert both["train"]["minutes"] == 2


def test_the_factor_belongs_to_the_papers_schedule() -> None:
    tables = chosen_tables(Path("a.tsv"), None, 5, None, ["train.factor=0.5"])
    assert tables["train"]["schedule"] == "noam" and tables["train"]["warmup"] == 300
    chosen = ["train.factor=0.5", "train.schedule=constant"]
    assert chosen_tables(Path("a.tsv"), None, 5, None, chosen)["train"]["schedule"] == "cosine"
