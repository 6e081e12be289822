"""Tables of pyarrow and pandas, read as any other."""

from pathlib import Path

import pandas

from refusals import refused
from regard.data.corpus import read_pairs
from regard.data.report import Report
from regard.data.role import Role
from regard.data.table import Table
from regard.errors import DataError

COLUMNS = {"id": [1, 2], "english": ["a cat", "a dog"], "german": ["eine Katze", "ein Hund"]}


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    pandas.DataFrame(COLUMNS).to_parquet(file)
    report = Report()
    pairs = [(pair.source, pair.target) for pair in read_pairs(file, None, report)]
    assert pairs == [("a cat", "eine Katze"), ("a dog", "ein Hund")]
    assert report.columns is not None and "english" in report.columns.said()


def test_a_column_of_translations_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    rows = [{"en": "a cat", "de": "eine Katze"}, {"en": "a dog", "de": None}]
    pandas.DataFrame({"translation": rows}).to_parquet(file)
    report = Report()
    pairs = [(pair.source, pair.target) for pair in read_pairs(file, None, report)]
    assert pairs == [("a cat", "eine Katze")] and report.total == 2


def test_what_is_no_parquet_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    file.write_bytes(b"PAR1 and then nothing")
    with refused(DataError, problem="not a Parquet file"):
        list(Table(file, [Role("text")], 1000).rows)
