"""Multi30k → one vocabulary and one file of batches, the same for everybody."""

from dataclasses import dataclass
from pathlib import Path

import child  # noqa: F401  makes the folder peers/ known
import numpy as np
from numpy.typing import NDArray
from plan import write_plan

from regard.data.buckets import BatchOrder, plan_epoch
from regard.prepare.epochs import lengths_of, pairs_batch
from regard.prepare.pairs import load_prepared, prepare, survey_pairs
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

SEED = 1


@dataclass(frozen=True)
class Corpus:
    """Four files of text."""

    source: Path
    target: Path
    valid_source: Path
    valid_target: Path


@dataclass(frozen=True)
class Lessons:
    """The batches of all steps, in their file, and the lengths that the count of work needs."""

    plan: Path
    vocabulary: int
    source_lengths: list[NDArray[np.int64]]  # of each batch its rows, </s> included
    target_lengths: list[NDArray[np.int64]]
    cells: int  # positions of all batches, padding included

    @property
    def tokens(self) -> list[int]:
        """Real source and target tokens of each batch."""
        both = zip(self.source_lengths, self.target_lengths, strict=True)
        return [int(source.sum() + target.sum()) for source, target in both]

    @property
    def padding(self) -> float:
        """The share of all positions that is padding."""
        return 1 - sum(self.tokens) / self.cells


def make_lessons(corpus: Corpus, pieces: int, budget: int, steps: int, work: Path) -> Lessons:
    """Learn a vocabulary of `pieces` as `regard train` does, and lay out `steps` batches."""
    files = {name: str(path) for name, path in vars(corpus).items()}
    recipe = make_recipe({"data": files, "tokenizer": {"size": pieces}}, "bench")
    run = RunFolder(work / "run")
    run.folder.mkdir(parents=True)
    prepare(run, recipe, survey_pairs(recipe.data, SEED))
    data = load_prepared(run)
    special, pairs = data.tokenizer.special, data.train
    order = BatchOrder(*lengths_of(pairs), budget, SEED).start_at()
    train = [pairs_batch(pairs, next(order).examples, special) for _ in range(steps)]
    valid = [
        pairs_batch(data.valid, numbers, special)
        for numbers in plan_epoch(*lengths_of(data.valid), token_budget=budget, seed=SEED, epoch=0)
    ]
    plan = work / "plan.npz"
    write_plan(plan, train=train, valid=valid)
    return Lessons(
        plan,
        data.tokenizer.size,
        [batch["source_real"].sum(1).numpy() for batch in train],
        [batch["target_real"].sum(1).numpy() for batch in train],
        sum(batch["source"].numel() + batch["target_in"].numel() for batch in train),
    )
