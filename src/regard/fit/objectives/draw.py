"""Draw: the patches of a picture as a target, its caption as a source; judged by a reader."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regard.answer.draw import draw_captions
from regard.data.batch import Batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.scenes.asked import asked_in
from regard.data.scenes.reading import read_scene
from regard.data.scenes.verdict import SceneVerdict, verdict_on
from regard.data.store import Store
from regard.fit.held_out_pairs import target_loss
from regard.fit.job import ObjectiveCode, StoredJob
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.drawings import (
    DrawingData,
    Drawings,
    load_drawings,
    prepare_drawings,
    survey_drawings,
)
from regard.prepare.text_to_text import framed_batch
from regard.printable import counted
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import TranslationLoss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf


def check(recipe: Recipe) -> Spec:
    """Names of weights; how many codes there are is not known yet."""
    spec = recipe.spec(recipe.tokenizer.size)
    check_names(spec, recipe.train.freeze)
    return spec


@dataclass
class DrawJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: DrawingData

    @property
    def loss_of(self) -> LossOf:
        return TranslationLoss(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    def at(self, place: PlannedBatch) -> Batch:
        return self._batch(self.data.train, place.examples)

    def batch(self, numbers: Numbers) -> Batch:
        return self._batch(self.data.train, numbers)

    def _batch(self, store: Store, numbers: Numbers) -> Batch:
        chosen = [int(i) for i in numbers]
        pairs = [(store["source"][i], store["target"][i]) for i in chosen]
        return framed_batch(pairs, self.data.codec.frame, chosen)

    def validation(self, model: Transformer, quick: bool = False) -> "DrawingsJudged":
        """The loss of all held-out scenes; of some captions, evenly chosen, a drawing is read."""
        model.eval()
        train = self.recipe.train
        loss = in_less_memory(
            lambda budget: target_loss(model, self._held_out(budget)), train.token_budget
        )
        most = 0 if quick else train.bleu_sentences
        return DrawingsJudged(loss, self._verdicts(model, most) if most else ())

    def _verdicts(self, model: Transformer, most: int) -> tuple[SceneVerdict, ...]:
        captions = self.data.valid_captions
        chosen = captions[:: max(1, len(captions) // most)][:most]
        codec = self.data.codec
        drawn = draw_captions(model, codec, chosen, self.recipe.decode)
        verdicts = []
        for caption, drawings in zip(chosen, drawn, strict=True):
            asked = asked_in(caption, codec.language)
            assert asked is not None, caption
            verdicts.append(verdict_on(read_scene(drawings[0].colours), asked))
        return tuple(verdicts)

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        plan = plan_epoch(*lengths_of(store), token_budget=budget, seed=0, epoch=0)
        return (self._batch(store, numbers) for numbers in plan)

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        codec = self.data.codec
        rows: list[dict[str, Any]] = []
        for i in range(len(batch)):
            source = batch["source"][i][batch["source_real"][i]].tolist()[:-1]
            target = batch["target_out"][i][batch["target_real"][i]].tolist()[:-1]
            rows.append(
                {
                    "example": batch.examples[i] if batch.examples else None,
                    "source": codec.tokenizer.decode(source),
                    "target": " ".join(str(code - codec.tokenizer.size) for code in target),
                }
            )
        return rows

    def lines(self, survey: Drawings) -> list[str]:
        data, book = self.data, self.data.codec.codebook
        height, width, channels = book.shape
        return [
            f"Data:       {counted(len(data.train), 'drawn scene')} to train on, "
            f"{len(data.valid_captions):,} captions held out for validation",
            f"Pictures:   {width} × {height} pixels, {book.places} patches of {book.side} × "
            f"{book.side}, {len(book):,} different ones",
            f"Vocabulary: {counted(data.codec.tokenizer.size, 'piece')} of captions",
        ]


@dataclass(frozen=True)
class DrawingsJudged:
    """A `Validated` (fit/job.py): `loss` in nats per code; drawings as the reader sees them."""

    loss: float
    verdicts: tuple[SceneVerdict, ...] = ()

    @property
    def score(self) -> float | None:
        return self._share("right")

    def _share(self, name: str) -> float | None:
        of = self.verdicts
        return sum(bool(getattr(one, name)) for one in of) / len(of) if of else None

    @property
    def numbers(self) -> dict[str, float | None]:
        names = ("right", "objects", "colours", "counts")
        return {name: self._share(name) for name in names}

    def sentence(self) -> str:
        right = "" if self.score is None else f" · {self.score:.1%} of the drawings are right"
        return f"validation loss {self.loss:.4f}{right}"


def lengths_of(store: Store) -> tuple[Lengths, Lengths]:
    """The positions that each scene takes in a batch."""
    return store["source"].lengths, store["target"].lengths + 1


CODE = ObjectiveCode(
    check,
    survey_drawings,
    prepare_drawings,
    lambda run, recipe: DrawJob(recipe, load_drawings(run)),
)
