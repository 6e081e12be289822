"""The jobs of an encoder: texts in, judged by what its head answers."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.ahead import ahead
from regard.data.batch import Batch
from regard.data.buckets import BatchOrder, Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.data.store import PairStore
from regard.data.text_batch import AnyBatch, TextBatch, lay_out
from regard.model.transformer import Transformer
from regard.tasks.encoder_data import EncoderData
from regard.tasks.encoder_validate import Judged, judge
from regard.tasks.job import Began
from regard.tasks.recipe import Recipe
from regard.tasks.warm_start import take_weights
from regard.train.memory_limit import is_out_of_memory
from regard.train.objectives import Classification
from regard.train.worker import LossOf

LEAST = 128  # tokens: a smaller batch would not help either


class EncoderJob:
    """tasks/job.py says what each of these is."""

    def __init__(self, recipe: Recipe, data: EncoderData) -> None:
        self.recipe, self.data = recipe, data
        self.spec = data.spec
        self.objective: LossOf = Classification(recipe.train.label_smoothing)
        self.begins_with = recipe.train.start_from

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    @property
    def parts(self) -> Sequence[Portion]:
        return ()

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, TextBatch]]:
        train = self.recipe.train
        order = BatchOrder(*self.lengths, train.token_budget, train.seed)
        places = order.start_at(epoch, number)
        return ahead(lambda place: self.batch(place.examples), places, train.loaders)

    def batch(self, numbers: Numbers) -> TextBatch:
        return make_text_batch(self.data, self.data.train, numbers)

    def validation(self, model: Transformer) -> Judged:
        return in_memory(lambda budget: self._validation(model, budget), self.recipe)

    def _validation(self, model: Transformer, budget: int) -> Judged:
        store = self.data.valid
        plan = plan_epoch(*lengths_of(store), token_budget=budget, seed=0, epoch=0)
        batches = (make_text_batch(self.data, store, numbers) for numbers in plan)
        return judge(model, batches)

    def start_weights(self, model: Transformer) -> Began:
        if self.begins_with is None:
            return Began()
        return Began(warm=take_weights(model, self.begins_with, same_words=True))

    def examples(self, batch: AnyBatch) -> list[dict[str, Any]]:
        assert not isinstance(batch, Batch)
        tokenizer = self.data.tokenizer
        return [
            {
                "example": batch.ids[i] if batch.ids else None,
                "text": tokenizer.decode(batch.source[i][batch.real[i]].tolist()),
                "labels": batch.labels[i].tolist(),
            }
            for i in range(len(batch.source))
        ]

    def verify(self) -> None:
        self.data.train.verify()

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        """There is nothing that grows."""


def lengths_of(store: PairStore) -> tuple[Lengths, Lengths]:
    """As batches are planned by, which count one position more on each side: here there is none."""
    return store.source_lengths - 1, np.full(len(store), -1, dtype=np.int32)


def make_text_batch(data: EncoderData, store: PairStore, numbers: Numbers) -> TextBatch:
    """Rows of a store as tensors."""
    chosen = [int(i) for i in numbers]
    rows = [store[i] for i in chosen]
    source, real, segments = lay_out(
        [ids for ids, _ in rows], [int(m[0]) for _, m in rows], data.pad
    )
    labels = _labels([more[1:].tolist() for _, more in rows], data)
    return TextBatch(source, real, segments, labels, tuple(chosen))


def _labels(rows: list[list[int]], data: EncoderData) -> Tensor:
    """The class of each text; or a 1 for each that it has."""
    if not data.file.several:
        return torch.tensor([row[0] for row in rows])
    labels = torch.zeros(len(rows), len(data.file.labels))
    for labelled, row in zip(labels, rows, strict=True):
        labelled[row] = 1.0
    return labels


def in_memory(validate: Callable[[int], Judged], recipe: Recipe) -> Judged:
    """In smaller batches where memory is too small: the same but for rounding."""
    budget = recipe.train.token_budget
    while True:
        try:
            return validate(budget)
        except (MemoryError, RuntimeError) as error:
            if budget < LEAST or not is_out_of_memory(error):
                raise
        budget //= 2
