"""The measurements: contender after contender, round after round, each in a new process.

A round runs every contender once; so a minute in which the machine was slower touches all of them,
and the ratio of a round is of neighbours in time.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

from child import ENVIRONMENT, ask, last_line
from contender import Contender
from decoding.contenders import BEAMS, COLD_GOALS
from decoding.models import RULES, Prepared
from job import Job, Result, to_json

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is measured, the same for all."""

    source: Path
    sentences: int
    batch: int = 64
    singles: int = 30
    rounds: int = 3
    alpha: float = 0.6


@dataclass
class Row:
    """One contender with one beam; lists have one entry for each round."""

    contender: Contender
    beam: int
    results: list[Result] = field(default_factory=list)

    @property
    def failure(self) -> str:
        return next((r.failure for r in self.results if r.failure), "")

    @property
    def speeds(self) -> list[float]:
        return [r.tokens / r.seconds for r in self.results]

    @property
    def latencies(self) -> list[float]:
        """Of each round the median over its single sentences, in milliseconds."""
        return [median(r.latencies) for r in self.results]

    @property
    def megabytes(self) -> float:
        return max(r.megabytes for r in self.results)

    @property
    def texts(self) -> list[str]:
        return self.results[0].texts


def run_rounds(model: Prepared, rows: list[Row], plan: Plan, say: Say) -> None:
    """Fill the rows."""
    for number in range(1, plan.rounds + 1):
        for row in rows:
            if row.failure:
                continue
            result = _one(model, row, plan)
            row.results.append(result)
            speed = result.failure or f"{row.speeds[-1]:,.0f} tokens/s"
            label = f"{BEAMS[row.beam]} · {row.contender.name}"
            say(f"{model.name} · round {number} of {plan.rounds} · {label}: {speed}")


def _one(model: Prepared, row: Row, plan: Plan) -> Result:
    contender = row.contender
    if contender.peer in model.failures:
        return Result(failure=model.failures[contender.peer])
    job = Job(
        peer=contender.peer,
        options=contender.options,
        run=model.run,
        ctranslate2=model.ctranslate2,
        hf=model.hf,
        source=plan.source,
        sentences=plan.sentences,
        beam=row.beam,
        alpha=plan.alpha,
        max_length=model.max_length,
        batch=plan.batch,
        singles=plan.singles,
    )
    return Result(**ask("measure.py", to_json(job)))


def cold_starts(model: Prepared, sentence: str, repeats: int, say: Say) -> dict[str, list[float]]:
    """Seconds from the command to its end, in turns: `import torch` alone, then each engine."""
    if not repeats:
        return {}
    translate = [sys.executable, "-m", "regard", "translate", str(model.run), sentence, *RULES]
    commands = {"import torch": [sys.executable, "-c", "import torch"]} | {
        engine: [*translate, "--engine", engine] for engine in COLD_GOALS
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            start = perf_counter()
            done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
            taken = perf_counter() - start
            if done.returncode:
                say(f"{model.name} · cold start · {name}: {last_line(done.stderr)}")
            elif turn:  # the first turn brings the files into memory
                seconds[name].append(taken)
    return seconds
