"""Where a set is looked for, and what `data.set` of a recipe becomes."""

from pathlib import Path
from typing import Any

import pytest

from regard.datasets.find import find, folder_of_set, scored_files, with_sets
from regard.datasets.table import named
from regard.errors import ConfigError, DataError, MisuseError


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """$REGARD_DATA and the cache's folder for data, both empty."""
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "own", tmp_path / "cache/data"


def put(name: str, place: Path, leave_out: int = 0) -> Path:
    """Empty files with the names of a set's."""
    dataset = named(name)
    folder = place / dataset.folder
    folder.mkdir(parents=True, exist_ok=True)
    for file in dataset.files[leave_out:]:
        (folder / file.name).touch()
    return folder


def test_own_folder_comes_before_the_cache(places: tuple[Path, Path]) -> None:
    own, cached = places
    assert find(named("stsb")) is None
    put("stsb", cached)
    assert find(named("stsb")) == cached / "stsb"
    put("stsb", own)
    assert find(named("stsb")) == own / "stsb"


def test_a_set_with_a_file_missing_is_not_here(places: tuple[Path, Path]) -> None:
    own, cached = places
    put("multi30k", own, leave_out=1)
    assert find(named("multi30k")) is None
    put("multi30k", cached)
    assert find(named("multi30k")) == cached / "multi30k"
    assert find(named("multi30k-tok")) is None  # the same folder, other files


def test_without_the_variable_only_the_cache_is_asked(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_DATA", "")
    put("stsb", places[1])
    assert find(named("stsb")) == places[1] / "stsb"


def test_a_set_that_is_not_here_says_what_to_do(places: tuple[Path, Path]) -> None:
    with pytest.raises(DataError, match="`regard data multi30k` fetches it"):
        folder_of_set("multi30k")
    with pytest.raises(DataError, match="`regard data libreoffice-de --from FOLDER`"):
        folder_of_set("libreoffice-de")
    with pytest.raises(MisuseError, match="regard phrasebook --language hi --output"):
        folder_of_set("phrasebook-hi")


def test_the_files_that_are_scored(places: tuple[Path, Path]) -> None:
    own = places[0]
    for name in ("multi30k", "tatoeba-de", "sst2"):
        put(name, own)
    sides = ("test_2016_flickr.en", "test_2016_flickr.de")
    assert scored_files("multi30k") == tuple(own / "multi30k" / side for side in sides)
    assert scored_files("tatoeba-de") == (own / "tatoeba/en-de.test.tsv.gz",)
    assert scored_files("sst2") == (own / "sst2/dev.tsv",)
    with pytest.raises(MisuseError, match="no test set"):
        scored_files("shakespeare")
    with pytest.raises(MisuseError, match="without --set"):
        scored_files("phrasebook-de")


def opened(data: dict[str, Any]) -> dict[str, Any]:
    found = with_sets({"data": data, "train": {"steps": 1}}, "mine")
    assert found["train"] == {"steps": 1}
    return dict(found["data"])


def test_a_set_becomes_files(places: tuple[Path, Path]) -> None:
    own = places[0]
    for name in ("multi30k", "tatoeba-de", "sst2", "stsb"):
        put(name, own)
    assert opened({"set": "multi30k", "max_tokens": 9}) == {
        "set": "multi30k",
        "max_tokens": 9,
        "source": str(own / "multi30k/train.en.gz"),
        "target": str(own / "multi30k/train.de.gz"),
        "valid_source": str(own / "multi30k/val.en"),
        "valid_target": str(own / "multi30k/val.de"),
    }
    assert opened({"set": "tatoeba-de"}) == {
        "set": "tatoeba-de",
        "source": str(own / "tatoeba/en-de.train.tsv.gz"),
        "valid_source": str(own / "tatoeba/en-de.dev.tsv.gz"),
    }
    assert opened({"set": "sst2"}) == {"set": "sst2", "texts": str(own / "sst2/train.tsv")}
    assert opened({"set": "stsb"})["valid_texts"] == str(own / "stsb/stsb-en-dev.csv")
    assert opened({"set": "scenes-de"}) == {"set": "scenes-de", "scenes": "de"}
    assert opened({"set": "phrasebook-hi"}) == {"set": "phrasebook-hi", "phrasebook": "hi"}
    assert opened({"source": "a.en"}) == {"source": "a.en"}
    mine = opened({"set": "multi30k", "valid_source": "mine.tsv"})  # own pairs to validate on stay
    assert mine["valid_source"] == "mine.tsv" and "valid_target" not in mine


def test_further_corpora_may_be_sets(places: tuple[Path, Path]) -> None:
    put("tatoeba-de", places[0])
    row = {"set": "tatoeba-de", "weight": 0.5, "tag": "web"}
    found = opened({"phrasebook": "de", "more": [row, {"source": "a.tsv"}]})
    expected = {**row, "source": str(places[0] / "tatoeba/en-de.train.tsv.gz")}
    assert found["more"] == [expected, {"source": "a.tsv"}]
    with pytest.raises(ConfigError, match="regard phrasebook --output"):
        opened({"phrasebook": "de", "more": [{"set": "phrasebook-hi"}]})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"set": "multi30k", "phrasebook": "de"}, r"mine: \[data\]: set and phrasebook .*data.ph"),
        ({"set": "multi30k", "source": "a", "target": "b"}, "set and source, target"),
        ({"set": "expmrc"}, "nothing that a recipe trains on"),
        ({"set": "sst3"}, 'did you mean "sst2"'),
    ],
)
def test_wrong_sets_are_named(
    places: tuple[Path, Path], data: dict[str, Any], message: str
) -> None:
    with pytest.raises(MisuseError, match=message):
        opened(data)
