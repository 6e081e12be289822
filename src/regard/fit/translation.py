"""The job of translating: pairs of sentences, an encoder and a decoder, judged by loss and BLEU."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.data.batch import Batch, make_batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch
from regard.data.mixture import Portion
from regard.data.text_batch import AnyBatch
from regard.fit.job import Began
from regard.fit.static_vectors import start_from
from regard.fit.validate import Validation, validate
from regard.fit.warm_start import take_weights
from regard.model.transformer import Transformer
from regard.prepare.epochs import Epochs
from regard.prepare.pairs import Prepared
from regard.runs.folder import Run
from regard.runs.recipe import Recipe
from regard.training.objectives import Translation
from regard.training.worker import LossOf


class TranslationJob:
    """fit/job.py says what each of these is."""

    def __init__(self, run: Run, recipe: Recipe, data: Prepared) -> None:
        self.recipe, self.data = recipe, data
        self.spec = recipe.spec(data.tokenizer.size)
        self.objective: LossOf = Translation(recipe.train.label_smoothing)
        self.begins_with = recipe.train.start_from
        self._epochs = Epochs(recipe, data, run.data)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self.data.train.source_lengths, self.data.train.target_lengths

    @property
    def parts(self) -> Sequence[Portion]:
        return self.data.parts

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        return self._epochs.batches(epoch, number)

    def batch(self, numbers: Numbers) -> Batch:
        pairs = self.data.train
        return make_batch([pairs[int(i)] for i in numbers], self.data.tokenizer.special)

    def validation(self, model: Transformer, quick: bool = False) -> Validation:
        train = self.recipe.train
        sentences = 0 if quick else train.bleu_sentences
        return validate(model, self.data, train.token_budget, sentences)

    def start_weights(self, model: Transformer) -> Began:
        vectors, other = self.recipe.train.embeddings, self.recipe.train.start_from
        return Began(
            None if vectors is None else start_from(model, self.data.tokenizer, vectors),
            None if other is None else take_weights(model, other),
        )

    def examples(self, batch: AnyBatch) -> list[dict[str, Any]]:
        assert isinstance(batch, Batch)
        rows: list[dict[str, Any]] = []
        tokenizer = self.data.tokenizer
        for i in range(len(batch.source)):
            source = batch.source[i][batch.source_real[i]].tolist()[:-1]  # without </s>
            target = batch.target_out[i][batch.target_real[i]].tolist()[:-1]
            rows.append(
                {
                    "example": batch.ids[i] if batch.ids else None,
                    "source": tokenizer.decode(source),
                    "target": tokenizer.decode(target),
                }
            )
        return rows

    def verify(self) -> None:
        self.data.train.verify()
        self.data.valid.verify()

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        self._epochs.forget_old(checkpoints, best_step)
