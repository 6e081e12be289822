"""Complete: the next token of a text, from those before it; judged by loss and perplexity."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.batch import Batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch
from regard.fit.job import ObjectiveCode, StoredJob
from regard.model.lora import check_maps
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.decoder_data import DecoderData, load_documents, prepare_documents
from regard.prepare.documents import Documents, survey_documents
from regard.prepare.start import open_decoder
from regard.printable import counted
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.losses import Completion, mean_completion_loss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf

PERPLEXITY_UP_TO = 50.0  # nats: beyond, it is no number to look at


def check(recipe: Recipe) -> Spec | None:
    """Look at the model that is started from; how large the vocabulary is is not known yet."""
    start = open_decoder(recipe)
    if start is not None and recipe.lora.rank:
        check_maps(start.spec, recipe.lora.rank, recipe.lora.maps)
    return None


def survey(recipe: Recipe) -> Documents:
    """The documents, counted."""
    return survey_documents(recipe.data)


def load(run: RunFolder, recipe: Recipe) -> "DecoderJob":
    """What was prepared."""
    return DecoderJob(recipe, load_documents(run))


@dataclass
class DecoderJob(StoredJob):
    """fit/job.py says what each of these is; an example is a window of the text."""

    data: DecoderData

    @property
    def loss_of(self) -> LossOf:
        return Completion(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        windows = self.data.train
        own = np.full(windows.count, windows.width, dtype=np.int32)
        return own, np.zeros_like(own)

    def at(self, place: PlannedBatch) -> Batch:
        start = self.data.train.start(self.recipe.train.seed, place.epoch)
        return self.data.train.batch(place.examples, start)

    def batch(self, numbers: Numbers) -> Batch:
        return self.data.train.batch(numbers)

    def validation(self, model: Transformer, quick: bool = False) -> "Continued":
        """All of the held-out text, in windows that follow each other."""
        model.eval()
        width = self.data.valid.width
        return in_less_memory(
            lambda budget: Continued(
                mean_completion_loss(model, self.data.valid.held_out(max(1, budget // width)))[0]
            ),
            self.recipe.train.token_budget,
        )

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        decode = self.data.tokenizer.decode
        texts = [batch["text"][i][batch["text_real"][i]].tolist() for i in range(len(batch))]
        numbers = batch.examples or (None,) * len(batch)
        return [
            {"example": number, "text": decode(ids)}
            for number, ids in zip(numbers, texts, strict=True)
        ]

    def lines(self, survey: Any) -> list[str]:
        train, valid = self.data.train, self.data.valid
        return [
            f"Data:       {counted(train.total, 'token')} to train on, {valid.total:,} held out "
            f"for validation, in windows of {train.width}",
            f"Vocabulary: {self.data.tokenizer.size:,} pieces",
        ]

    def verify(self) -> None:
        self.data.train.store.verify()
        self.data.valid.store.verify()


@dataclass(frozen=True)
class Continued:
    """A `Validated` (fit/job.py): `loss` in nats per token."""

    loss: float

    @property
    def perplexity(self) -> float:
        """e^loss: among how many tokens the model is in doubt."""
        return math.exp(min(self.loss, PERPLEXITY_UP_TO))

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"perplexity": self.perplexity}

    @property
    def score(self) -> float:
        return -self.perplexity

    def sentence(self) -> str:
        return f"validation loss {self.loss:.4f} · perplexity {self.perplexity:.2f}"


CODE = ObjectiveCode(check, survey, prepare_documents, load)
