"""The table of data sets: every row is whole, every address safe, every part a file of its set."""

import re
from urllib.parse import urlsplit

import pytest

from regard.datasets.table import DataSet, all_sets, named
from regard.errors import MisuseError

FILED = [dataset for dataset in all_sets().values() if not dataset.is_made]


@pytest.mark.parametrize("dataset", FILED, ids=lambda dataset: dataset.name)
def test_a_row_is_whole(dataset: DataSet) -> None:
    names = [file.name for file in dataset.files]
    assert names and len(set(names)) == len(names) and dataset.folder
    assert {*dataset.train, *dataset.valid, *dataset.test} <= set(names)
    most = {"pairs": 2, "texts": 1, "images": 1, "other": 0}[dataset.kind]
    assert all(len(part) <= most for part in (dataset.train, dataset.valid, dataset.test))
    if dataset.kind != "other":
        # One text, whose last tenth is held out; trees, of which the recipe names those to test on;
        # questions that are a test of those of the other.
        assert dataset.train or dataset.name == "expmrc"
        assert dataset.test or dataset.name in ("shakespeare", "xquad", "treebank")
    for text in (dataset.what, dataset.size, dataset.licence, dataset.page):
        assert text and text == text.strip()


@pytest.mark.parametrize("dataset", FILED, ids=lambda dataset: dataset.name)
def test_addresses_are_safe_and_files_are_known_by_their_bytes(dataset: DataSet) -> None:
    for file in dataset.files:
        assert re.fullmatch(r"[\w.-]+", file.name) and not file.name.startswith(".")
        address = dataset.address(file)
        if dataset.inside:
            assert not address
        elif not address:
            assert "--from" in dataset.note
        else:
            parts = urlsplit(address)
            assert (
                parts.scheme == "https" and parts.netloc and not parts.query and ".." not in address
            )
        if dataset.make.startswith("tatoeba"):
            assert not file.sha256 and "grows" in dataset.note
        else:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256) and file.bytes > 0


def test_sets_that_share_a_folder_have_files_of_their_own() -> None:
    lie = [(dataset.folder, file.name) for dataset in FILED for file in dataset.files]
    assert len(set(lie)) == len(lie)


def test_a_wrong_name_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(
        MisuseError, match=r"'multi30'; did you mean \"multi30k\"\? There are: .*sst2"
    ):
        named("multi30")
    with pytest.raises(MisuseError, match="'zzz'; known: phrasebook-de"):
        named("zzz")
