"""Folders that are no run: the error says what they are instead, and what to do."""

from pathlib import Path

import pytest

import regard
from refusals import refused
from regard.bundle.open_run import open_run
from regard.errors import CheckpointError, MisuseError

NEITHER = r"neither a run \(no run.json\) nor a published model \(no config.json\)"


def test_a_folder_of_something_else_is_not_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(CheckpointError, match=NEITHER) as error:
        regard.load(tmp_path)
    assert "delete" not in str(error.value)


@pytest.mark.parametrize("left", ["recipe.json", "data"])
def test_an_unfinished_preparation_may_be_deleted(left: str, tmp_path: Path) -> None:
    (tmp_path / left).mkdir() if left == "data" else (tmp_path / left).touch()
    with pytest.raises(CheckpointError, match=f"{NEITHER}: a training.*delete it and train again"):
        regard.load(tmp_path)


def test_a_published_folder_cannot_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with refused(MisuseError, problem="a published model", expected="a run"):
        open_run(tmp_path)


def test_a_missing_folder_names_those_beside_it(tmp_path: Path) -> None:
    with refused(MisuseError, problem="no such folder", advice="`regard train` makes a run"):
        open_run(tmp_path / "none")
    for name, file in {"demo": "run.json", "bert": "config.json", "notes": "a.txt"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
    with pytest.raises(MisuseError) as error:
        regard.load(tmp_path / "none")
    here = f"{tmp_path / 'bert'}, {tmp_path / 'demo'}"
    assert str(error.value) == f"{tmp_path / 'none'}: no such folder; here are {here}"
