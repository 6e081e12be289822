"""The benchmark of searching: small here; a million vectors in `make test-long`."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("faiss")


def test_the_truth_is_the_exact_nearest(bench: Path) -> None:
    module = import_module("search")
    vectors = [*module.blocks(40_000, 16, "lumps")]
    queries = next(module.blocks(5, 16, "lumps", seed=1))
    truth = module.Truth(queries)
    passed = np.concatenate([*truth.watch(iter(vectors))])
    assert len(passed) == 40_000 and len(vectors) == 2
    wanted = np.argsort(-(queries @ passed.T), axis=1)[:, :10]
    assert all(set(a) == set(b) for a, b in zip(truth.rows.tolist(), wanted.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["random", "lumps"])
def test_a_few_thousand(kind: str, bench: Path, tmp_path: Path) -> None:
    found = import_module("search").measure(tmp_path, 21_000, 384, 10, kind)
    assert found["recall_at_10"] >= 0.95
    assert 16 < found["megabytes"] < 19  # 768 bytes and a code of 56 for each, and the rotation


@pytest.mark.long
@pytest.mark.parametrize("kind", ["random", "lumps"])
def test_a_million_vectors_on_disk_answer_within_50_ms(
    kind: str, bench: Path, tmp_path: Path
) -> None:
    found = import_module("search").measure(tmp_path, 1_000_000, 384, 50, kind)
    print(found, file=sys.stderr)
    assert found["recall_at_10"] >= 0.95
    assert found["median_milliseconds"] <= 50
