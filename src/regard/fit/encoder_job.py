"""The jobs of an encoder: texts in, judged by what its head answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from regard.data.buckets import BatchOrder, Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.data.noise import Masking
from regard.data.prefetch import ahead
from regard.data.store import PairStore
from regard.data.text_batch import IGNORED, AnyBatch, TextBatch, lay_out
from regard.errors import MisuseError
from regard.fit.encoder_validate import Judged, judge
from regard.fit.fill_validate import Filled, found_again
from regard.fit.job import Began
from regard.fit.warm_start import take_layers, take_weights
from regard.model.transformer import Transformer
from regard.prepare.texts import TEACHER, EncoderData
from regard.runs.folder import Run
from regard.runs.recipe import Recipe
from regard.runs.sections import DataSection
from regard.text.published import PublishedTokenizer
from regard.training.memory_limit import is_out_of_memory
from regard.training.objectives import Classification, Distillation, Filling, Tagging
from regard.training.worker import LossOf

Found = TypeVar("Found")
LEAST = 128  # tokens: a smaller batch would not help either


class EncoderJob:
    """fit/job.py says what each of these is."""

    def __init__(self, run: Run, recipe: Recipe, data: EncoderData) -> None:
        self.recipe, self.data = recipe, data
        self.spec = data.spec
        smoothing = recipe.train.label_smoothing
        fills = recipe.objective == "fill"
        self.objective: LossOf = Filling(smoothing) if fills else Classification(smoothing)
        if recipe.objective == "tag":
            self.objective = Tagging(smoothing)
        if recipe.objective == "distil":
            teacher = str((run.data / TEACHER).resolve())
            self.objective = Distillation(teacher, **vars(recipe.distil))
        self.masking = masking_of(data.tokenizer, recipe.data) if fills else None
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
        return ahead(self._at, places, train.loaders)

    def _at(self, place: PlannedBatch) -> TextBatch:
        chance = (self.recipe.train.seed, place.epoch, place.number)
        return self._made(self.data.train, place.examples, chance)

    def batch(self, numbers: Numbers) -> TextBatch:
        return self._made(self.data.train, numbers, (0,))

    def _made(self, store: PairStore, numbers: Numbers, chance: Sequence[int]) -> TextBatch:
        """Rows of a store as tensors; `chance` decides what is hidden, where something is."""
        made = make_text_batch(self.data, store, numbers)
        if self.masking is None:
            return made
        source, labels = self.masking(made.source, made.real, chance)
        return replace(made, source=source, labels=labels)

    def validation(self, model: Transformer, quick: bool = False) -> Judged | Filled:
        """The same words are hidden each time."""
        return within_memory(lambda budget: self._validation(model, budget, quick), self.recipe)

    def _validation(self, model: Transformer, budget: int, quick: bool) -> Judged | Filled:
        store, masking = self.data.valid, self.masking
        plan = plan_epoch(
            *lengths_of(store), token_budget=self.recipe.train.token_budget, seed=0, epoch=0
        )
        whole = (self._made(store, numbers, (0, i)) for i, numbers in enumerate(plan))
        batches = (part for one in whole for part in _within(one, budget))
        if masking is None:
            return judge(model, batches)
        texts = 0 if quick else self.recipe.train.bleu_sentences
        rows = [store[i] for i in range(min(len(store), texts))]
        chosen = [(ids.tolist(), int(more[0])) for ids, more in rows]
        return found_again(model, batches, chosen, masking, self.data.pad, budget)

    def start_weights(self, model: Transformer) -> Began:
        if self.begins_with is None:
            return Began()
        if self.recipe.objective == "distil":
            return Began(warm=take_layers(model, self.begins_with))
        return Began(warm=take_weights(model, self.begins_with, same_words=True))

    def examples(self, batch: AnyBatch) -> list[dict[str, Any]]:
        assert isinstance(batch, TextBatch)
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
        self.data.valid.verify()

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
    labels = torch.zeros(len(rows), dtype=torch.long)
    if data.spec.head == "labels":
        labels = tags_of([more[1:].tolist() for _, more in rows], source.shape[1])
    elif data.file.labels:
        labels = _labels([more[1:].tolist() for _, more in rows], data)
    return TextBatch(source, real, segments, labels, tuple(chosen))


def _labels(rows: list[list[int]], data: EncoderData) -> Tensor:
    """The class of each text; or a 1 for each that it has."""
    if not data.file.several:
        return torch.tensor([row[0] for row in rows])
    labels = torch.zeros(len(rows), len(data.file.labels))
    for labelled, row in zip(labels, rows, strict=True):
        labelled[torch.tensor(row, dtype=torch.long)] = 1.0
    return labels


def tags_of(rows: list[list[int]], width: int) -> Tensor:
    """The tag of each place, as prepare/tagged.py counts them; IGNORED where no word begins."""
    labels = torch.full((len(rows), width), IGNORED)
    for row, tags in zip(labels, rows, strict=True):
        row[: len(tags)] = torch.tensor(tags, dtype=torch.long) - 1
    return labels.masked_fill(labels < 0, IGNORED)


def _within(batch: TextBatch, budget: int) -> list[TextBatch]:
    """The batch, or its rows in parts of at most so many cells."""
    rows = max(1, budget // batch.source.shape[1])
    count = len(batch.source)
    return [batch.rows(slice(i, i + rows)) for i in range(0, count, rows)]


def masking_of(tokenizer: PublishedTokenizer, data: DataSection) -> Masking:
    """What may be hidden, and which pieces go on with a word."""
    mask = tokenizer.mask_id
    if mask is None:
        raise MisuseError("fill: this tokenizer has no mask token, so no word can be hidden")
    special = set(tokenizer.codec.special.values())
    ordinary = [i for i, token in enumerate(tokenizer.codec.tokens) if token and i not in special]
    return Masking(mask, np.array(ordinary), tokenizer.later, data.mask, data.whole_words)


def within_memory(validate: Callable[[int], Found], recipe: Recipe) -> Found:
    """In smaller batches where memory is too small: the same but for rounding."""
    budget = recipe.train.token_budget
    while True:
        try:
            return validate(budget)
        except (MemoryError, RuntimeError) as error:
            if budget < LEAST or not is_out_of_memory(error):
                raise
        budget //= 2
