"""Caption: what is said of a picture, judged by its loss and by how many captions are exact."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.answer.caption import caption_colours
from regard.bundle.codec import own_codec
from regard.data.batch import Batch, pad_rows
from regard.data.buckets import Lengths, Numbers, PlannedBatch
from regard.data.store import Store
from regard.decode.options import DecodingOptions
from regard.fit.held_out_pairs import target_loss
from regard.fit.job import FirstWeights, ObjectiveCode, StoredJob
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.captions import (
    CaptionData,
    Captions,
    load_captions,
    prepare_captions,
    survey_captions,
)
from regard.printable import counted
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import TranslationLoss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf


def check(recipe: Recipe) -> Spec:
    """Names of weights; how many words there are is not known yet."""
    spec = recipe.spec(recipe.tokenizer.size)
    check_names(spec, recipe.train.freeze)
    return spec


@dataclass
class CaptionJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: CaptionData

    @property
    def loss_of(self) -> LossOf:
        return TranslationLoss(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self._lengths(self.data.train)

    def _lengths(self, store: Store) -> tuple[Lengths, Lengths]:
        places = np.full(len(store), self.spec.source_places or 0, np.int32)
        return places, store["target"].lengths + 1

    def at(self, place: PlannedBatch) -> Batch:
        return self._made(self.data.train, place.examples)

    def batch(self, numbers: Numbers) -> Batch:
        return self._made(self.data.train, numbers)

    def _made(self, store: Store, numbers: Numbers) -> Batch:
        """Pictures and captions as tensors, laid out for teacher forcing."""
        chosen, special = [int(i) for i in numbers], self.data.tokenizer.special
        captions = [store["target"][i].tolist() for i in chosen]
        target_in, real = pad_rows([[special.bos, *ids] for ids in captions], special.pad)
        target_out, _ = pad_rows([[*ids, special.eos] for ids in captions], special.pad)
        colours = self.data.colours(store, numbers)
        tensors = {
            "pixels": torch.from_numpy(self.data.preparation.numbers(colours)),
            "patches_real": torch.ones(len(chosen), self.spec.patches + 1, dtype=torch.bool),
            "target_in": target_in,
            "target_out": target_out,
            "target_real": real,
        }
        return Batch(tensors, tuple(chosen))

    def validation(self, model: Transformer, quick: bool = False) -> "CaptionsJudged":
        """The loss of all held-out pictures; of some, evenly chosen, whether captions are exact."""
        model.eval()
        train = self.recipe.train
        loss = in_less_memory(
            lambda budget: target_loss(model, self._held_out(budget)), train.token_budget
        )
        most = 0 if quick else train.bleu_sentences
        return CaptionsJudged(loss, self._exact(model, most) if most else None)

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        rows = max(1, budget // (self.spec.patches + 1))
        for start in range(0, len(store), rows):
            yield self._made(store, np.arange(start, min(start + rows, len(store))))

    def _exact(self, model: Transformer, most: int) -> float:
        """The share of captions that are right to the last word (greedy)."""
        store, data = self.data.valid, self.data
        chosen = range(0, len(store), max(1, len(store) // most))[:most]
        colours = list(data.colours(store, chosen))
        codec, search = own_codec(data.tokenizer), DecodingOptions(beam=1)
        told = caption_colours(model, codec, data.preparation, colours, search)
        right = [
            best[0].text == data.captions[i] for i, best in zip(chosen, told, strict=True) if best
        ]
        return sum(right) / len(chosen)

    def start_weights(self, model: Transformer) -> FirstWeights:
        return FirstWeights()

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        decode = self.data.tokenizer.decode
        return [
            {
                "example": number,
                "caption": decode(batch["target_out"][i][batch["target_real"][i]].tolist()),
            }
            for i, number in enumerate(batch.examples or (None,) * len(batch))
        ]

    def lines(self, survey: Captions) -> list[str]:
        data, spec = self.data, self.spec
        side, patch = spec.image_size, spec.patch_size
        left_out = survey.counts[0] - len(data.train)
        too_long = f" ({left_out:,} with captions that are too long, left out)" if left_out else ""
        colours = "grey" if spec.channels == 1 else f"{spec.channels} channels"
        return [
            f"Data:       {counted(len(data.train), 'picture')} to train on{too_long}, "
            f"{len(data.valid):,} held out for validation ({survey.origin})",
            f"Pictures:   {side} × {side} pixels, {colours}; {spec.patches:,} patches of "
            f"{patch} × {patch} and a class token are {spec.source_places:,} tokens",
            f"Vocabulary: {data.tokenizer.size:,} pieces",
        ]


@dataclass(frozen=True)
class CaptionsJudged:
    """A `Validated` (fit/job.py): `loss` in nats per token, without label smoothing."""

    loss: float
    exact: float | None = None

    @property
    def score(self) -> float | None:
        return self.exact

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"exact": self.exact}

    def sentence(self) -> str:
        exact = "" if self.exact is None else f" · {self.exact:.1%} exact (greedy)"
        return f"validation loss {self.loss:.4f}{exact}"


CODE = ObjectiveCode(
    check,
    survey_captions,
    prepare_captions,
    lambda run, recipe: CaptionJob(recipe, load_captions(run)),
)
