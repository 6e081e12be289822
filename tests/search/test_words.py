"""Keyword search against BM25 written out, and what counts as a word."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from refusals import refused
from regard.errors import CheckpointError
from regard.search.words import Words, best, words_in, write_words

TEXTS = ["the cat sat on the mat", "a dog sat", "The CAT, the cat!", "...", "birds"]


def bm25(query: str, text: str) -> float:
    """Robertson's formula with Lucene's idf, from the definitions."""
    rows = [[w for *_, w in words_in(t)] for t in TEXTS]
    mean = sum(map(len, rows)) / len(rows)
    own = [w for *_, w in words_in(text)]
    total = 0.0
    for word in query.split():
        holders = sum(word in row for row in rows)
        idf = math.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
        f = Counter(own)[word]
        total += idf * f / (f + 1.5 * (1 - 0.75 + 0.75 * len(own) / mean))
    return total


def test_scores_are_those_of_the_formula(tmp_path: Path) -> None:
    write_words(tmp_path, TEXTS)
    rows, scores = Words(tmp_path, len(TEXTS)).nearest("Cat sat cat unknown", 10)
    wanted = {n: bm25("cat sat", text) for n, text in enumerate(TEXTS)}
    order = sorted((n for n in wanted if wanted[n] > 0), key=lambda n: -wanted[n])
    assert rows.tolist() == order and len(order) == 3
    assert np.allclose(scores, [wanted[n] for n in order], atol=1e-5)


def test_nothing_is_found_where_no_word_is_known(tmp_path: Path) -> None:
    write_words(tmp_path, TEXTS)
    opened = Words(tmp_path, len(TEXTS))
    assert all(opened.nearest(query, 3)[0].size == 0 for query in ("कुत्ता", "?!", "zebra"))
    (tmp_path / "no").mkdir()
    write_words(tmp_path / "no", ["...", "!"])
    assert Words(tmp_path / "no", 2).nearest("cat", 3)[0].size == 0


def test_a_word_has_its_marks_and_no_case() -> None:
    text = "नमस्ते दुनिया, Straße CAFE\u0301 x_1 don't"
    found = [(text[start:end], word) for start, end, word in words_in(text)]
    assert [shown for shown, _ in found][:4] == ["नमस्ते", "दुनिया", "Straße", "CAFE\u0301"]
    assert [word for _, word in found][:4] == ["नमस्ते", "दुनिया", "strasse", "café"]


def test_only_plain_files_are_written_and_a_pickle_is_not_read(tmp_path: Path) -> None:
    write_words(tmp_path, TEXTS)
    files = {path.suffix for path in (tmp_path / "words").iterdir()}
    assert files == {".npy", ".json"}
    data = next((tmp_path / "words").glob("data*.npy"))
    np.save(data, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with refused(CheckpointError, advice="--rebuild"):
        Words(tmp_path, len(TEXTS))


def test_the_best_are_the_highest_and_equal_ones_stand_in_order() -> None:
    scores = np.array([0.5, 1.0, 0.5, 0.0, 0.5, -1.0], dtype=np.float32)
    assert best(scores, 3)[0].tolist() == [1, 0, 2]
    assert best(scores, 9, above=0.0)[0].tolist() == [1, 0, 2, 4]
    assert best(scores[:0], 3)[0].tolist() == []


@pytest.mark.parametrize("change", [{"int_dtype": "a\nb"}, {"backend": "jax"}, {"b": 9.0}])
def test_how_it_is_computed_is_not_for_the_file_to_say(
    tmp_path: Path, change: dict[str, object]
) -> None:
    write_words(tmp_path, TEXTS)
    expected = Words(tmp_path, len(TEXTS)).nearest("cat sat", 3)
    file = tmp_path / "words/params.index.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    rows, scores = Words(tmp_path, len(TEXTS)).nearest("cat sat", 3)
    assert rows.tolist() == expected[0].tolist() and np.array_equal(scores, expected[1])
