"""Rows of frames, data sets and lists become the same table."""

import json
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import pyarrow
import pytest

from regard.api.rows import rows_of, write_rows
from regard.errors import MisuseError

COLUMNS = {"english": ["a cat", "ein “dog”\n"], "german": ["eine Katze", "ein Hund"]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
HOLDERS: dict[str, Any] = {
    "pandas": pandas.DataFrame(COLUMNS),
    "pandas with an index": pandas.DataFrame(COLUMNS, index=["x", "y"]),
    "datasets": datasets.Dataset.from_dict(COLUMNS),
    "arrow": pyarrow.table(COLUMNS),
    "dict of columns": COLUMNS,
    "list of dicts": ROWS,
    "generator of dicts": (row for row in ROWS),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_every_holder_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert write_rows(HOLDERS[name], file, "train", {}) == ["english", "german"]
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == ROWS


def test_pairs_of_texts() -> None:
    pairs = [("a cat", "eine Katze"), ["a dog", "ein Hund"]]
    assert list(rows_of(pairs, "train")) == [
        {"source": "a cat", "target": "eine Katze"},
        {"source": "a dog", "target": "ein Hund"},
    ]


def test_numbers_and_gaps_of_a_frame(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {
            "text": pandas.Series(["good", None], dtype="string"),
            "label": np.array([3, 4], dtype=np.int64),
            "share": [0.5, float("nan")],
            "kind": pandas.Categorical(["a", "b"]),
        }
    )
    file = tmp_path / "rows.jsonl"
    write_rows(frame, file, "train", {})
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert first == {"text": "good", "label": 3, "share": 0.5, "kind": "a"}
    assert second == {"text": None, "label": 4, "share": None, "kind": "b"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (3, "train: got int, expected a table"),
        (["a", "b"], "train: row 1: got str, expected a pair of texts or a dict"),
        ([("a", "b", "c")], "train: row 1: got tuple"),
        ([], "train: the table has no rows"),
    ],
)
def test_what_is_no_table_is_told(data: object, told: str, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=told):
        write_rows(data, tmp_path / "rows.jsonl", "train", {})
    assert not list(tmp_path.iterdir())
