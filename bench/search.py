"""Search in a million vectors on disk: milliseconds a query, recall@10, megabytes.

    python bench/search.py
    python bench/search.py --count 200000 --kind lumps --json search.json

The vectors lie in files as `regard index` writes them, and are opened as `regard search` opens
them: memory-mapped. They are random directions (the hardest there are: all are equally far from
each other) or lumps of them. Recall is against the exact cosines of the numbers that went in. The
time is that of the search alone: making the query's vector takes one pass of the model more.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from needs import insist_on_libraries, say

BLOCK = 1 << 15
TOP = 10


def blocks(count: int, width: int, kind: str, seed: int = 0) -> Iterator[np.ndarray]:
    """Unit vectors, block after block."""
    from regard.search.vectors import unit

    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((1000, width), dtype=np.float32)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        made = rng.standard_normal((size, width), dtype=np.float32)
        if kind == "lumps":
            made = centres[rng.integers(0, len(centres), size)] + 0.7 * made
        yield unit(made)


class Truth:
    """The exact nearest of each query, kept up to date while vectors pass by."""

    def __init__(self, queries: np.ndarray) -> None:
        self.queries, self.seen = queries, 0
        self.scores = np.full((len(queries), TOP), -np.inf, dtype=np.float32)
        self.rows = np.full((len(queries), TOP), -1, dtype=np.int64)

    def watch(self, source: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """The same blocks, each compared on its way."""
        for block in source:
            scores = np.concatenate([self.scores, self.queries @ block.T], axis=1)
            new = np.broadcast_to(
                np.arange(self.seen, self.seen + len(block)), (len(scores), len(block))
            )
            rows = np.concatenate([self.rows, new], axis=1)
            top = np.argpartition(-scores, TOP, axis=1)[:, :TOP]
            self.scores = np.take_along_axis(scores, top, axis=1)
            self.rows = np.take_along_axis(rows, top, axis=1)
            self.seen += len(block)
            yield block


def measure(folder: Path, count: int, width: int, queries: int, kind: str) -> dict[str, Any]:
    """Write, open, search; everything that is printed."""
    from regard.search.vectors import Vectors, write_vectors

    asked = next(blocks(queries, width, kind, seed=1))
    truth = Truth(asked)
    began = time.perf_counter()
    write_vectors(folder, count, width, truth.watch(blocks(count, width, kind)))
    written = time.perf_counter()
    opened = Vectors(folder, count, width)
    ready = time.perf_counter()
    times, hits = [], 0
    for query, rows in zip(asked, truth.rows, strict=True):
        start = time.perf_counter()
        found, _ = opened.nearest(query, TOP)
        times.append(1000 * (time.perf_counter() - start))
        hits += len(set(found.tolist()) & set(rows.tolist()))
    return {
        "vectors": count,
        "numbers": width,
        "kind": kind,
        "queries": queries,
        "megabytes": round(sum(p.stat().st_size for p in folder.iterdir()) / 1e6),
        "write_seconds": round(written - began, 1),
        "open_milliseconds": round(1000 * (ready - written), 1),
        "first_milliseconds": round(times[0], 1),
        "median_milliseconds": round(float(np.median(times)), 1),
        "slowest_milliseconds": round(max(times), 1),
        "recall_at_10": round(hits / (TOP * queries), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--kind", choices=["random", "lumps"], default="random")
    parser.add_argument("--folder", type=Path, help="where the files lie meanwhile")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    given = parser.parse_args()
    insist_on_libraries(["faiss"])
    from printed import machine, show_machine, wide_console

    folder = Path(tempfile.mkdtemp(prefix="search-", dir=given.folder))
    try:
        say(f"writing {given.count:,} vectors of {given.width} numbers …")
        found = measure(folder, given.count, given.width, given.queries, given.kind)
    finally:
        shutil.rmtree(folder)
    console = wide_console()
    versions = machine(["numpy", "faiss-cpu"])
    show_machine(console, versions)
    for name, value in found.items():
        console.print(f"  {name.replace('_', ' '):22} {value}", highlight=False)
    if given.json:
        given.json.write_text(json.dumps({"machine": versions, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
