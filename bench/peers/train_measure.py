"""One training in a process of its own, so that memory and threads are the learner's alone.

    python bench/peers/train_measure.py JOB.json RESULT.json

The clock runs from the end of one step to the end of the next, with all that a learner does for it.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import torch
from job import from_json
from memory import peak_megabytes
from plan import read_plan
from train_job import Trained, TrainJob

from regard.data.batch import Batch


class Learner(Protocol):
    """Something that learns from batches, and says how."""

    layout: str
    precision: str
    chosen: dict[str, Any]

    def steps(self, batches: Sequence[Batch]) -> Iterator[float]:
        """One update for each batch; yields its smoothed loss."""

    def loss(self, batch: Batch) -> float:
        """-log p of the target, summed over its tokens, in single precision without dropout."""


def _own(job: TrainJob) -> Learner:
    from train_own import Own

    return Own(job)


def _torch(job: TrainJob) -> Learner:
    from train_torch import learner

    return learner(job)


def _marian(job: TrainJob) -> Learner:
    from train_marian import learner

    return learner(job)


LEARNERS: dict[str, Callable[[TrainJob], Learner]] = {
    "regard": _own,
    "torch": _torch,
    "transformers": _marian,
}


def measure(job: TrainJob) -> Trained:
    """Train, and then validate where asked."""
    torch.manual_seed(job.seed)
    batches = read_plan(job.plan, "train")[: job.steps]
    learner = LEARNERS[job.peer](job)
    seconds, losses, megabytes = [], [], 0.0
    before = perf_counter()
    for loss in learner.steps(batches):
        now = perf_counter()
        seconds.append(now - before)
        losses.append(loss)
        if len(losses) == len(batches):
            megabytes = peak_megabytes()  # while helpers that a learner has started are there
        before = now
    return Trained(
        layout=learner.layout,
        precision=learner.precision,
        chosen=learner.chosen,
        seconds=seconds,
        losses=losses,
        validation_loss=_validated(learner, job.plan) if job.is_validated else None,
        megabytes=megabytes,
    )


def _validated(learner: Learner, plan: Path) -> float:
    batches = read_plan(plan, "valid")
    tokens = sum(int(batch["target_real"].sum()) for batch in batches)
    with torch.inference_mode():
        return sum(learner.loss(batch) for batch in batches) / tokens


if __name__ == "__main__":
    asked, answer = map(Path, sys.argv[1:])
    found = measure(from_json(TrainJob, json.loads(asked.read_text(encoding="utf-8"))))
    answer.write_text(json.dumps(asdict(found)), encoding="utf-8")
