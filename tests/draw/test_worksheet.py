"""How numbers are written, which columns are shown, and what JSON gets."""

import json

import numpy as np
import pytest

import example_sheets as sheets
from regard.draw.worksheet.numbers import kept, number, places, vector
from regard.draw.worksheet.worksheet import Matrix, Sum, as_data


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.42231, 4, "0.4223"),
        (-0.5, 4, "−0.5000"),
        (0.0, 4, "0"),
        (1e-9, 4, "0.0000"),  # not exactly 0, and it can be seen
        (-1e-9, 4, "0.0000"),
        (-np.inf, 4, "−∞"),
        (np.inf, 4, "∞"),
        (np.nan, 4, "NaN"),
        (306.0, 0, "306"),
        (1234567890.0, 4, "1.2346e+09"),
        (1234567890, 0, "1234567890"),
    ],
)
def test_numbers(value: float, decimals: int, text: str) -> None:
    assert number(value, decimals) == text


def test_whole_numbers_have_no_decimals_and_one_other_gives_all_of_them_some() -> None:
    assert places(np.array([1.0, -np.inf, 4.0])) == 0
    assert places(np.array([1.0, 0.5])) == 4
    assert vector(np.array([1.0, 0, 1, 0])) == "(1, 0, 1, 0)"
    assert vector(np.array([0.8446, 0.5, 1, 0]), 2) == "(0.84, 0.50, 1.00, 0)"


def test_cutting_keeps_both_ends() -> None:
    assert kept(4, 4) == kept(4, 9) == kept(4, None) == kept(4, 0) == [0, 1, 2, 3]
    assert kept(9, 3) == [0, 1, None, 8]
    assert kept(9, 1) == [0, None]
    assert vector(np.arange(128.0), limit=4) == "(0, 1, …, 126, 127)"
    matrix = Matrix("m", np.zeros((2, 128)), ["a", "b"])
    assert matrix.hidden(8) == "120 of 128 columns are hidden" and matrix.hidden(128) == ""


def test_a_vector_is_one_row_and_labels_must_fit() -> None:
    assert Matrix("v", np.zeros(3), ["v"]).grid.shape == (1, 3)
    assert Matrix("v", np.zeros(3), ["v"]).heads == ["1", "2", "3"]
    for values, rows, columns in (
        (np.zeros((2, 3)), ["a"], None),
        (np.zeros((2, 3)), ["a", "b"], ["1"]),
        (np.zeros((0, 3)), [], None),
    ):
        with pytest.raises(ValueError, match="matrix m: got"):
            Matrix("m", values, rows, columns)
    with pytest.raises(ValueError, match="sum z: got 3 weights, 3 vectors and 1 labels"):
        Sum("z", np.ones(3), np.ones((3, 4)), ["a"], np.ones(4))


def test_json_holds_exact_numbers_and_the_marks() -> None:
    data = json.loads(json.dumps(as_data(sheets.NOTES), allow_nan=False))
    first, second = data["steps"]
    assert first["parts"][0]["values"] == sheets.E.tolist() and first["mark"] is None
    assert second["number"] == 2
    assert second["parts"][0]["highlight"] == 0 and second["parts"][0]["columns"] == sheets.WORDS
    assert second["parts"][1]["total"] == [0.8446, 0.5777, 0.8446, 0.5777]
    assert second["parts"][2] == {"line": "0.4223 · 1 + 0.4223 · 1 = 0.8446"}
    assert second["mark"] == {"verdict": "wrong", "message": "you wrote 1.2669, it is 0.8446"}
    odd = json.loads(json.dumps(as_data(sheets.ODD), allow_nan=False))
    assert odd["steps"][1]["parts"][0]["values"] == [["-inf", "nan", 1e9]]
