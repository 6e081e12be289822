"""The hundred sentences on which everyday-de is judged: new to it, and as long as was said."""

import gzip
import re
from pathlib import Path

import pytest

from regard.data.phrasebook.corpus import phrasebook
from regard.datasets.find import find
from regard.datasets.table import named

SENTENCES = Path(__file__).parents[2] / "docs/everyday/sentences.txt"


def sentences() -> list[str]:
    return SENTENCES.read_text("utf-8").splitlines()


def bare(sentence: str) -> str:
    """Without case and signs: "Don't go!" → "dont go"."""
    return re.sub(r"[^a-z0-9]+", " ", sentence.lower().replace("'", "")).strip()


def test_a_hundred_of_4_to_14_words() -> None:
    assert len({bare(line) for line in sentences()}) == 100
    assert all(4 <= len(line.split()) <= 14 for line in sentences())


def test_none_is_in_the_phrasebook() -> None:
    assert not {bare(entry.source) for entry in phrasebook("de")} & set(map(bare, sentences()))


def test_none_is_in_any_part_of_tatoeba() -> None:
    dataset = named("tatoeba-de")
    folder = find(dataset)
    if folder is None:
        pytest.skip("the data set tatoeba-de is not on this machine")
    sources = set()
    for file in dataset.files:
        with gzip.open(folder / file.name, "rt", encoding="utf-8") as lines:
            sources |= {bare(line.split("\t")[0]) for line in lines}
    assert len(sources) > 50_000
    assert not sources & set(map(bare, sentences()))
