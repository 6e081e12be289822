"""See: the class of a picture; judged by loss, accuracy, F1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.data.augment import Augmentation
from regard.data.batch import Batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch
from regard.data.store import Store
from regard.fit.job import ObjectiveCode, StoredJob
from regard.fit.objectives.classify import Judged, judge
from regard.model.lora import check_maps
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.pictures import (
    PictureData,
    Pictures,
    load_pictures,
    prepare_pictures,
    survey_pictures,
)
from regard.prepare.start import open_seer
from regard.printable import counted
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.losses import Seeing, seen
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf

FEW = 10  # pictures of a class, below which little is learned of it


def check(recipe: Recipe) -> Spec | None:
    """Look at the model that is started from; how many classes there are is not known yet."""
    start = open_seer(recipe)
    if start is not None and recipe.lora.rank:
        check_maps(start.spec, recipe.lora.rank, recipe.lora.maps)
    return None


def load(run: RunFolder, recipe: Recipe) -> "SeeJob":
    """What was prepared."""
    return SeeJob(recipe, load_pictures(run))


@dataclass
class SeeJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: PictureData

    def __post_init__(self) -> None:
        super().__post_init__()
        see = self.recipe.own
        self._augmented = Augmentation(see.crop, see.flip, see.erase)

    @property
    def loss_of(self) -> LossOf:
        return Seeing(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self._lengths(self.data.train)

    def _lengths(self, store: Store) -> tuple[Lengths, Lengths]:
        places = np.full(len(store), self.data.places, np.int32)
        return places, np.zeros_like(places)

    def at(self, place: PlannedBatch) -> Batch:
        chance = (self.recipe.train.seed, place.epoch)
        return self._made(self.data.train, place.examples, chance)

    def batch(self, numbers: Numbers) -> Batch:
        return self._made(self.data.train, numbers)

    def _made(self, store: Store, numbers: Numbers, chance: Sequence[int] | None = None) -> Batch:
        """Pictures as tensors; by `chance` (seed and epoch) another view of each."""
        colours = self.data.colours(store, numbers)
        if chance is not None:
            colours = self._augmented(colours, chance, numbers)
        tensors = {
            "pixels": torch.from_numpy(self.data.preparation.numbers(colours)),
            "patches_real": torch.ones(len(numbers), self.data.places, dtype=torch.bool),
            "labels": torch.from_numpy(store.numbers["label"][numbers].astype(np.int64)),
        }
        return Batch(tensors, tuple(int(i) for i in numbers))

    def validation(self, model: Transformer, quick: bool = False) -> Judged:
        """The pictures as they are, all of them."""
        model.eval()
        return in_less_memory(
            lambda budget: judge(model, self._held_out(budget), answer_to=seen),
            self.recipe.train.token_budget,
        )

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store, rows = self.data.valid, max(1, budget // self.data.places)
        for start in range(0, len(store), rows):
            yield self._made(store, np.arange(start, min(start + rows, len(store))))

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        labels = batch["labels"].tolist()
        return [
            {"example": number, "label": self.data.labels[label]}
            for number, label in zip(batch.examples or [None] * len(batch), labels, strict=True)
        ]

    def lines(self, survey: Any) -> list[str]:
        data, spec = self.data, self.spec
        side, patch = spec.image_size, spec.patch_size
        colours = "grey" if spec.channels == 1 else f"{spec.channels} channels"
        return [
            f"Data:       {counted(len(data.train), 'picture')} to train on, {len(data.valid):,} "
            f"held out for validation, {counted(len(data.labels), 'label')}",
            f"Pictures:   {side} × {side} pixels, {colours}; {spec.patches:,} patches of "
            f"{patch} × {patch} and a class token are {data.places:,} tokens",
        ]

    def remarks(self, survey: Pictures) -> list[str]:
        counts = np.bincount(self.data.train.numbers["label"], minlength=len(self.data.labels))
        few = [
            f"{name} {count}"
            for name, count in zip(self.data.labels, counts.tolist(), strict=True)
            if count < FEW
        ]
        if not few:
            return []
        more = ", …" if len(few) > FEW else ""
        return [f"Note:       few pictures to learn from: {', '.join(few[:FEW])}{more}"]


CODE = ObjectiveCode(check, survey_pictures, prepare_pictures, load)
