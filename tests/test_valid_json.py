"""JSON without NaN and infinity, for every command."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from regard.errors import CheckpointError
from regard.valid_json import valid_json

CLI = Path(__file__).parent.parent / "src/regard/cli"


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_json_has_not() -> None:
    value = {"a": [1.5, -math.inf, (2, math.inf)], "größe": {"b": None, "c": True}}
    made = valid_json(value)
    assert strict(made) == {"a": [1.5, None, [2, None]], "größe": {"b": None, "c": True}}
    assert "größe" in made and "\n" not in made and "\n" in valid_json(value, indent=2)


def test_nan_in_an_answer_is_an_error_and_in_a_report_a_gap() -> None:
    for value in (math.nan, {"a": [{"b": math.nan}]}):
        with pytest.raises(CheckpointError, match="NaN, which is no number"):
            valid_json(value)
        assert "null" in valid_json(value, gaps=True)


def test_every_command_prints_by_it() -> None:
    """train.py has the one other use: a text for a recipe."""
    with_dumps = {path.name for path in CLI.glob("*.py") if "json.dump" in path.read_text("utf-8")}
    assert with_dumps == {"train.py"}
