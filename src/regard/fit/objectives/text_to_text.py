"""Text to text: one model, told by a prefix what to make of a text; each task has its own metric.

Its pairs are those of tasks, or a text with holes and what stood in them (data/spans.py).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from regard.data.batch import Batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.data.store import Store
from regard.fit.held_out_pairs import greedy_texts, target_loss
from regard.fit.job import ObjectiveCode, StoredJob
from regard.model.lora import check_maps
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.phrase_tasks import both_sides
from regard.prepare.rouge import insist_on_rouge
from regard.prepare.start import open_text_to_text
from regard.prepare.task_metrics import NAMES, TaskScore, judged
from regard.prepare.tasks import Tasks, survey_tasks
from regard.prepare.text_to_text import (
    TextToTextData,
    corruption_of,
    framed_batch,
    load_text_to_text,
    prepare_spans,
    prepare_tasks,
)
from regard.prepare.texts import Texts, read_rows, survey_texts
from regard.printable import counted
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import TranslationLoss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf

PERPLEXITY_UP_TO = 50.0  # nats: beyond, it is no number to look at
Chance = tuple[int, int]  # seed and epoch: which spans are taken out
FIXED: Chance = (0, 0)  # … of the held-out texts, each time the same


def check(recipe: Recipe) -> Spec | None:
    """Look at the model that is started from; how large a new vocabulary is is not known yet."""
    if "rouge" in [task.metric for task in recipe.data.tasks] or recipe.own.metric == "rouge":
        insist_on_rouge("metric")
    start = open_text_to_text(recipe)
    if start is not None:
        check_names(start.spec, recipe.train.freeze)
        if recipe.lora.rank:
            check_maps(start.spec, recipe.lora.rank, recipe.lora.maps)
    return None


def survey(recipe: Recipe) -> Tasks | Texts:
    """Pairs, or plain texts."""
    if not recipe.own.corrupt:
        return survey_tasks(recipe)
    read = partial(read_rows, labelled=False)
    return survey_texts(recipe.data, recipe.train.seed, "text", read, both_sides)


def prepare(run: RunFolder, recipe: Recipe, surveyed: Any) -> None:
    """Fill the run's data folder."""
    (prepare_spans if recipe.own.corrupt else prepare_tasks)(run, recipe, surveyed)


def load(run: RunFolder, recipe: Recipe) -> "TextToTextJob":
    """What was prepared."""
    data = load_text_to_text(run)
    pairs = SpanPairs if recipe.own.corrupt else StoredPairs
    return TextToTextJob(recipe, data, pairs(recipe, data))


class StoredPairs:
    """Examples as they were stored."""

    def __init__(self, recipe: Recipe, data: TextToTextData) -> None:
        self.data = data

    def lengths(self, store: Store) -> tuple[Lengths, Lengths]:
        """Positions of both sides."""
        return store["source"].lengths, store["target"].lengths + 1

    def batch(self, store: Store, numbers: Numbers, chance: Chance) -> Batch:
        """These examples as tensors."""
        chosen = [int(i) for i in numbers]
        pairs = [(store["source"][i], store["target"][i]) for i in chosen]
        return framed_batch(pairs, self.data.frame, chosen)


class SpanPairs:
    """Texts whose spans are drawn anew for each epoch."""

    def __init__(self, recipe: Recipe, data: TextToTextData) -> None:
        self.data, self.corruption = data, corruption_of(recipe, data.tokenizer)

    def lengths(self, store: Store) -> tuple[Lengths, Lengths]:
        """Positions of both sides, each with its end."""
        source, target = self.corruption.lengths(store["text"].lengths)
        return source + 1, target + 1

    def batch(self, store: Store, numbers: Numbers, chance: Chance) -> Batch:
        """These texts with holes."""
        chosen, frame = [int(i) for i in numbers], self.data.frame
        pairs = []
        for i in chosen:
            source, target = self.corruption(store["text"][i].tolist(), (*chance, i))
            pairs.append(([*source, frame.end], target))
        return framed_batch(pairs, frame, chosen)


@dataclass
class TextToTextJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: TextToTextData
    pairs: StoredPairs | SpanPairs

    @property
    def loss_of(self) -> LossOf:
        return TranslationLoss(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self.pairs.lengths(self.data.train)

    @property
    def corpora(self) -> Sequence[Portion]:
        return [task.portion for task in self.data.tasks]

    def at(self, place: PlannedBatch) -> Batch:
        chance = (self.recipe.train.seed, place.epoch)
        return self.pairs.batch(self.data.train, place.examples, chance)

    def batch(self, numbers: Numbers) -> Batch:
        return self.pairs.batch(self.data.train, numbers, FIXED)

    def validation(self, model: Transformer, quick: bool = False) -> "TasksJudged":
        """The loss of all held-out pairs; of each task the score of its first ones."""
        model.eval()
        train = self.recipe.train
        loss = in_less_memory(
            lambda budget: target_loss(model, self._held_out(budget)), train.token_budget
        )
        most = 0 if quick else train.bleu_sentences
        return TasksJudged(loss, tuple(task_scores(model, self.data, most)) if most else ())

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        plan = plan_epoch(*self.pairs.lengths(store), token_budget=budget, seed=0, epoch=0)
        return (self.pairs.batch(store, numbers, FIXED) for numbers in plan)

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        decode = self.data.tokenizer.decode
        numbers = batch.examples or (None,) * len(batch)
        return [
            {
                "example": number,
                "source": decode(batch["source"][i][batch["source_real"][i]].tolist()),
                "target": decode(batch["target_out"][i][batch["target_real"][i]].tolist()),
            }
            for i, number in enumerate(numbers)
        ]

    def lines(self, survey: Any) -> list[str]:
        data, what = self.data, "pair" if self.data.tasks else "text"
        several = len(data.tasks) > 1
        return [
            f"Data:       {counted(len(data.train), what)} to train on, {len(data.valid):,} held "
            "out for validation",
            *(
                f"            {task.name}: {task.portion.shown:,} of an epoch's examples "
                f"({task.pairs:,} pairs, weight {task.weight:g}), judged by {NAMES[task.metric]}"
                for task in (data.tasks if several else ())
            ),
            f"Vocabulary: {data.tokenizer.size:,} pieces",
        ]

    def remarks(self, survey: Any) -> list[str]:
        return [
            f"Look at:    {task.name}: {counted(task.too_long, 'pair')} over "
            f"{self.recipe.data.max_tokens} tokens left out (data.max_tokens)"
            for task in self.data.tasks
            if task.too_long
        ]


@dataclass(frozen=True)
class TasksJudged:
    """A `Validated` (fit/job.py): `loss` in nats per target token, without label smoothing."""

    loss: float
    tasks: tuple[TaskScore, ...] = ()

    @property
    def perplexity(self) -> float:
        """e^loss: among how many tokens the model is in doubt."""
        return math.exp(min(self.loss, PERPLEXITY_UP_TO))

    @property
    def score(self) -> float | None:
        """The mean over the tasks."""
        return float(np.mean([task.score for task in self.tasks])) if self.tasks else None

    @property
    def numbers(self) -> dict[str, float | None]:
        each = {f"{task.name} {task.metric}": task.score for task in self.tasks}
        return {"perplexity": self.perplexity, "score": self.score, **each}

    def sentence(self) -> str:
        scores = "".join(f" · {task}" for task in self.tasks)
        return f"validation loss {self.loss:.4f} · perplexity {self.perplexity:.2f}{scores}"


def task_scores(model: Transformer, data: TextToTextData, most: int) -> Iterator[TaskScore]:
    """Each task by greedy answers to at most so many of its held-out pairs."""
    for task in data.tasks:
        rows = [row for row in data.rows if row.task == task.name][:most]
        if rows:
            sources = [row.source for row in rows]
            outputs = greedy_texts(model, data.codec, sources, data.rules)
            yield judged(task.name, task.metric, outputs, [row.target for row in rows])


CODE = ObjectiveCode(check, survey, prepare, load)
