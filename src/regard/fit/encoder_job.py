"""What the jobs of all encoders share: texts in batches, first weights, examples to look at."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.batch import Batch, text_batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.store import Store
from regard.fit.job import FirstWeights, StoredJob, Validated
from regard.fit.warm_start import WarmStart, take_weights
from regard.model.lora import check_maps
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import EncoderData
from regard.prepare.start import Start, open_start
from regard.printable import counted
from regard.runs.sections import Recipe
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf

# Rows of a store as tensors; the numbers of chance decide what is hidden, where something is.
MakeBatch = Callable[[Store, Numbers, Sequence[int]], Batch]
# How good a model is on batches of the held-out texts; with what budget they were made; whether the
# loss is enough.
Judge = Callable[[Transformer, Iterator[Batch], int, bool], Validated]
FEW = 200  # texts, below which a model from scratch meets new words all the time


def check(recipe: Recipe, check_start: Callable[[Start], None] = lambda start: None) -> Spec | None:
    """Look at the model that is started from; without one there is nothing to refuse yet."""
    if recipe.train.start_from is not None:
        start = open_start(recipe.train.start_from)
        check_start(start)
        if recipe.lora.rank:
            check_maps(start.spec, recipe.lora.rank, recipe.lora.maps)
    return None  # how large the vocabulary and the head are is not known


@dataclass
class EncoderJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: EncoderData
    loss_of: LossOf
    make_batch: MakeBatch
    judge: Judge
    take: Callable[[Transformer, Path], WarmStart] = partial(take_weights, same_words=True)
    unit: str = "text"
    beyond: str = "what is beyond was cut"  # of a text that fills all places
    cut: bool = True  # whether batches may be cut where memory is too small for validation

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    def at(self, place: PlannedBatch) -> Batch:
        chance = (self.recipe.train.seed, place.epoch, place.number)
        return self.make_batch(self.data.train, place.examples, chance)

    def batch(self, numbers: Numbers) -> Batch:
        return self.make_batch(self.data.train, numbers, (0,))

    def validation(self, model: Transformer, quick: bool = False) -> Validated:
        """The same words are hidden each time."""
        model.eval()
        return in_less_memory(
            lambda budget: self.judge(model, self._held_out(budget), budget, quick),
            self.recipe.train.token_budget,
        )

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        planned = self.recipe.train.token_budget if self.cut else budget
        plan = plan_epoch(*lengths_of(store), token_budget=planned, seed=0, epoch=0)
        for i, numbers in enumerate(plan):
            batch = self.make_batch(store, numbers, (0, i))
            rows = max(1, budget * len(batch) // batch.cells) if self.cut else len(batch)
            yield from (batch.rows(slice(j, j + rows)) for j in range(0, len(batch), rows))

    def start_weights(self, model: Transformer) -> FirstWeights:
        start = self.begins_with
        return FirstWeights() if start is None else FirstWeights(warm=self.take(model, start))

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        decode, names = self.data.tokenizer.decode, {"second": "pair"}
        rest = {
            name: tensor
            for name, tensor in batch.tensors.items()
            if name not in batch.real and not name.endswith(("_real", "_segments"))
        }
        return [
            {
                "example": batch.examples[i] if batch.examples else None,
                **{
                    names.get(text, text): decode(batch[text][i][real[i]].tolist())
                    for text, real in batch.real.items()
                },
                **{name.removeprefix("text_"): t[i].tolist() for name, t in rest.items()},
            }
            for i in range(len(batch))
        ]

    def lines(self, survey: Any) -> list[str]:
        data = self.data
        limit, stores = data.file.limit, (data.train, data.valid)
        full = sum(int((store["text"].lengths == limit).sum()) for store in stores)
        labels = f", {counted(len(data.file.labels), 'label')}" if data.file.labels else ""
        cut = f"; {full:,} fill all {limit} tokens, {self.beyond}" if full else ""
        return [
            f"Data:       {counted(len(data.train), self.unit)} to train on, {len(data.valid):,} "
            f"held out for validation{labels}{cut}",
            f"Vocabulary: {data.tokenizer.size:,} pieces",
        ]

    def remarks(self, survey: Any) -> list[str]:
        count, start = len(self.data.train), self.begins_with
        if count >= FEW or start is not None:
            return []
        return [
            f"Note:       {counted(count, 'text')} teach few words; train.start_from=minilm begins "
            "with a model that knows them"
        ]


def lengths_of(store: Store) -> tuple[Lengths, Lengths]:
    """The positions that each example takes in a batch."""
    text, second = store["text"].lengths, store.columns.get("second")
    return text, np.zeros_like(text) if second is None else second.lengths


def texts_of(store: Store, numbers: Numbers, pad: int) -> Batch:
    """Texts of a store as tensors, without what is asked."""
    chosen = [int(i) for i in numbers]
    first = [int(count) for count in store.numbers["first"][chosen]]
    return text_batch([store["text"][i] for i in chosen], first, pad, chosen)
