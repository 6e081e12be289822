"""Queries by meaning, by words and both; fusion worked out by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folders
import library
import regard
from refusals import refused
from regard.errors import MisuseError
from regard.search.index import index_folder
from regard.search.query import SearchIndex, fuse, open_index


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    root = tmp_path_factory.mktemp("search")
    folders.bert(root / "bert", "")
    index_folder(library.write(root / "texts"), root / "index", root / "bert", device="cpu")
    return open_index(root / "index", device="cpu")


def test_meaning_is_the_cosine_of_the_vectors(opened: SearchIndex) -> None:
    model: Any = regard.load(opened.manifest.model, "cpu")
    texts = [opened.table.passage(n)[1].text for n in range(opened.manifest.passages)]
    vectors, query = model.embed(texts), model.embed("a good cat")
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    order = np.argsort(-cosines)
    found = opened.search("a good cat", 4)
    assert [match.text for match in found] == [texts[n] for n in order[:4]]
    assert np.allclose([match.score for match in found], cosines[order[:4]], atol=1e-3)


def test_highlights_of_meaning_are_few_words_with_a_share(opened: SearchIndex) -> None:
    for match in opened.search("house sea", 4):
        assert len(match.highlights) <= max(1, len(match.text.split()) // 4)
        for mark in match.highlights:
            assert match.text[mark.start : mark.end] == mark.word
            assert mark.share is not None and 0 < mark.share < 1


def test_highlights_of_keywords_are_the_querys_words(opened: SearchIndex) -> None:
    found = opened.search("CAT, zebra", mode="keyword")
    assert found and all("cat" in match.text for match in found)
    assert {mark.word for match in found for mark in match.highlights} == {"cat"}
    assert all(mark.share is None for match in found for mark in match.highlights)
    assert opened.search("zebra", mode="keyword") == []


def test_hybrid_has_both_ranks(opened: SearchIndex) -> None:
    found = opened.search("red cat", 9, "hybrid")
    for match in found:
        assert match.score == pytest.approx(sum(1 / (60 + rank) for rank in match.ranks.values()))
    best = opened.search("red cat", 1, "keyword")[0]
    assert [m.ranks["keyword"] for m in found if m.text == best.text] == [1]
    assert opened.search("zebra", 2, "hybrid")  # meaning alone answers


def test_fusion_by_hand() -> None:
    nothing = np.zeros(3, dtype=np.float32)
    lists = {
        "semantic": (np.array([7, 5, 3]), nothing),
        "keyword": (np.array([5, 9]), nothing[:2]),
    }
    found = fuse(lists)
    assert [row for row, *_ in found] == [5, 7, 9, 3]  # 1/62 + 1/61, 1/61, 1/62, 1/63
    assert found[0][1] == pytest.approx(1 / 62 + 1 / 61)
    assert found[0][2] == {"semantic": 2, "keyword": 1}


def test_questions_that_cannot_be_answered(opened: SearchIndex) -> None:
    with refused(MisuseError, advice='did you mean "keyword"'):
        opened.search("cat", mode="keywords")
    with refused(MisuseError, subject="k", got=0):
        opened.search("cat", 0)
    with refused(MisuseError, problem="empty"):
        opened.search(" \n")


def test_another_language_gets_an_answer_and_is_known_as_strange(opened: SearchIndex) -> None:
    assert len(opened.search("кошка на ковре", 3)) == 3
    assert opened.is_strange("кошка на ковре") and not opened.is_strange("a red cat")


def test_a_model_that_moved_is_named(opened: SearchIndex, tmp_path: Path) -> None:
    Path(opened.manifest.model).rename(tmp_path / "elsewhere")
    try:
        with refused(MisuseError, problem="the model is not there", advice="--model"):
            open_index(opened.path).search("cat")
        assert open_index(opened.path, tmp_path / "elsewhere", device="cpu").search("cat")
    finally:
        (tmp_path / "elsewhere").rename(opened.manifest.model)
