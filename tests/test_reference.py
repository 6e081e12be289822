"""docs/reference/recipe.md, python.md and the_transformer.md are what is made of the code."""

import dataclasses
import re

import pytest
from doc_pages import text_of
from make_reference import commented_keys, meaning, pages
from python_reference import split_at_commas

import regard
from regard.model.spec import Spec
from regard.runs.sections import TrainSection

MADE = pages()


@pytest.mark.parametrize("name", MADE)
def test_the_page_is_what_the_code_says(name: str) -> None:
    assert text_of(name) == MADE[name], "run `make reference`"


def test_every_key_of_a_recipe_has_a_row_with_its_default() -> None:
    page = MADE["reference/recipe.md"]
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]*; default `(.*?)` \| .+ \|$", page, re.MULTILINE))
    for section in (TrainSection, Spec):
        names = {field.name for field in dataclasses.fields(section)} - {"vocabulary"}
        assert names <= set(rows)
    assert (rows["accumulate"], rows["schedule"], rows["norm_epsilon"]) == ("1", '"noam"', "1e-5")
    assert (rows["steps"], rows["freeze"], rows["gated"]) == ("100000", "[]", "false")


def test_every_public_name_and_method_has_a_heading() -> None:
    page = MADE["reference/python.md"]
    for name in regard.__all__:
        assert f"\n## {name}\n" in page or name == "__version__"
    methods = [name for name, kind in vars(regard.Model).items() if callable(kind)]
    for name in methods:
        assert f"\n### Model.{name}\n" in page or name.startswith("_")
    assert page.count("```") % 2 == 0


def test_a_comment_becomes_the_meaning_of_a_key() -> None:
    text = '[train]\nsteps = 5 # how many (default 9)\n# rate = 1e-3  # the peak; here high\nx = ""'
    keys = commented_keys(text)
    assert keys == {
        "train.steps": "how many (default 9)",
        "train.rate": "the peak; here high",
    } | {"train.x": ""}
    assert meaning(keys["train.steps"]) == "how many"
    assert meaning(keys["train.rate"]) == "the peak"
    assert meaning('"a" (paper, default): all ("": none, default)') == '"a" (paper): all ("": none)'


def test_a_long_signature_is_cut_between_its_parameters() -> None:
    assert split_at_commas("a: dict[str, int], *, b = (1, 2)") == [
        "a: dict[str, int]",
        "*",
        "b = (1, 2)",
    ]
