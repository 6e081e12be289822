"""The measurements: contender after contender, round after round, each in a new process."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from child import ask
from contender import Contender
from embed_job import Job, Result
from embedding.contenders import AS_USED
from job import to_json

Say = Callable[[str], None]


@dataclass
class Row:
    """One contender; lists have one entry for each round."""

    contender: Contender
    results: list[Result] = field(default_factory=list)
    vectors: np.ndarray | None = None  # of the first round

    @property
    def failure(self) -> str:
        return next((r.failure for r in self.results if r.failure), "")

    @property
    def speeds(self) -> list[float]:
        return [r.sentences / r.seconds for r in self.results]


@dataclass(frozen=True)
class Measured:
    """Everything known about one set of sentences."""

    name: str
    model: Path
    texts: list[str]
    rounds: int
    rows: list[Row]
    python: str = sys.executable  # that of ONNX Runtime and OpenVINO

    def row(self, key: str) -> Row | None:
        """The row of a contender, if it ran."""
        return next((r for r in self.rows if r.contender.key == key and not r.failure), None)

    def cosines(self, row: Row) -> np.ndarray | None:
        """Of each vector with that of the peer as people use it."""
        other = self.row(AS_USED)
        if other is None or row.vectors is None or other.vectors is None:
            return None
        a, b = row.vectors.astype(np.float64), other.vectors.astype(np.float64)
        sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        found: np.ndarray = (a * b).sum(axis=1) / sizes
        return found


def run_rounds(measured: Measured, work: Path, say: Say) -> None:
    """Fill the rows. A round runs everybody once, so a slow minute touches all of them."""
    sentences, vectors = work / "sentences.json", work / "vectors.npy"
    sentences.write_text(json.dumps(measured.texts), encoding="utf-8")
    for number in range(1, measured.rounds + 1):
        for row in measured.rows:
            if row.failure:
                continue
            peer, options = row.contender.peer, row.contender.options
            job = Job(peer, options, measured.model, sentences, vectors)
            elsewhere = peer in ("onnxruntime", "openvino")
            python = measured.python if elsewhere else sys.executable
            result = Result(**ask("embed_measure.py", to_json(job), python))
            row.results.append(result)
            if not result.failure and row.vectors is None:
                row.vectors = np.load(vectors)
            speed = result.failure or f"{row.speeds[-1]:,.0f} sentences/s"
            where = f"{measured.name} · round {number} of {measured.rounds}"
            say(f"{where} · {row.contender.name}: {speed}")
