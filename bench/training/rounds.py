"""The measurements: contender after contender, round after round, each in a new process.

In the first round everybody makes all steps and is validated after the last; in the others only
those steps are made whose time is taken. So the times of all rounds are of the same batches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from child import ask
from contender import Contender
from job import to_json
from train_job import Trained, TrainJob
from training.data import SEED, Lessons
from training.work import operations

from regard.config import to_tables
from regard.model.spec import Spec

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is measured, the same for all."""

    steps: int
    rounds: int = 3
    warm_up: int = 3  # steps before the clock counts
    window: int = 3  # steps that give one speed
    windows: int = 5
    warmup: int = 400  # steps in which the learning rate rises
    clip: float = 1.0
    smoothing: float = 0.1
    budget: int = 4096

    @property
    def least(self) -> int:
        """Steps without which there is no time to tell."""
        return self.warm_up + self.window

    @property
    def timed(self) -> int:
        """Steps of the rounds after the first."""
        return min(self.steps, self.warm_up + self.window * self.windows)

    def cut(self, values: Sequence[float]) -> list[float]:
        """The sums over each window of some numbers, one for each step."""
        ends = range(self.least, self.timed + 1, self.window)
        return [sum(values[end - self.window : end]) for end in ends]


@dataclass
class Row:
    """One contender; `results` has one entry for each round."""

    contender: Contender
    results: list[Trained] = field(default_factory=list)

    @property
    def failure(self) -> str:
        return next((r.failure for r in self.results if r.failure), "")

    @property
    def megabytes(self) -> float:
        return max(r.megabytes for r in self.results)

    @property
    def validation_loss(self) -> float | None:
        return self.results[0].validation_loss


@dataclass(frozen=True)
class Measured:
    """Everything known about one preset."""

    preset: str
    spec: Spec
    plan: Plan
    lessons: Lessons
    rows: list[Row]
    throughput: dict[str, float]

    def row(self, key: str) -> Row | None:
        """The row of a contender, if it ran."""
        return next((r for r in self.rows if r.contender.key == key and not r.failure), None)

    def windows(self, row: Row) -> list[list[float]]:
        """Real tokens per second of each window, by rounds."""
        tokens = self.plan.cut(self.lessons.tokens)
        return [
            [t / s for t, s in zip(tokens, self.plan.cut(result.seconds), strict=True)]
            for result in row.results
        ]

    def speeds(self, row: Row) -> list[float]:
        """Of each round the median over its windows."""
        return [median(speeds) for speeds in self.windows(row)]

    def rate(self, row: Row) -> float:
        """Operations of matrix products per second: the work of a token at the median speed."""
        first, last = self.plan.warm_up, self.plan.timed
        lengths = zip(self.lessons.source_lengths, self.lessons.target_lengths, strict=True)
        work = sum(operations(self.spec, s, t) for s, t in list(lengths)[first:last])
        return median(self.speeds(row)) * work / sum(self.lessons.tokens[first:last])

    def share(self, row: Row) -> float | None:
        """The part of the machine's matrix throughput in this row's precision."""
        limit = self.throughput.get(row.results[0].precision)
        return self.rate(row) / limit if limit else None


def run_rounds(measured: Measured, say: Say) -> None:
    """Fill the rows."""
    plan = measured.plan
    for number in range(1, plan.rounds + 1):
        for row in measured.rows:
            if row.failure:
                continue
            row.results.append(Trained(**ask("train_measure.py", to_json(_job(measured, row)))))
            speed = row.failure or f"{measured.speeds(row)[-1]:,.0f} tokens/s"
            where = f"{measured.preset} · round {number} of {plan.rounds}"
            say(f"{where} · {row.contender.name}: {speed}")


def _job(measured: Measured, row: Row) -> TrainJob:
    """What regard chose in the first round, it keeps: a run stores its choice too."""
    plan, is_first = measured.plan, not row.results
    chosen: dict[str, Any] = {} if is_first else row.results[0].chosen
    return TrainJob(
        peer=row.contender.peer,
        options=row.contender.options | chosen,
        model=to_tables(measured.spec),
        plan=measured.lessons.plan,
        steps=plan.steps if is_first else plan.timed,
        is_validated=is_first,
        warmup=plan.warmup,
        clip=plan.clip,
        smoothing=plan.smoothing,
        seed=SEED,
    )
