"""Parse: the signs of a sentence's tree as a target, judged by loss and brackets.

In each epoch a sentence's marks begin with another number, drawn by seed, epoch and example: so
every mark is met at every place, and a long sentence finds none that is strange to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.answer.parse import parse_rows
from regard.data.batch import Batch
from regard.data.brackets import BracketCounts, compare_all
from regard.data.buckets import BatchOrder, Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.data.prefetch import prefetched
from regard.data.store import Store
from regard.data.trees import Tree, words_of_tree
from regard.decode.options import DecodingOptions
from regard.fit.held_out_pairs import target_loss
from regard.fit.job import FirstWeights, ObjectiveCode
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.text_to_text import framed_batch
from regard.prepare.trees import TreeData, Trees, load_trees, prepare_trees, survey_trees
from regard.printable import counted
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import TranslationLoss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf


def check(recipe: Recipe) -> Spec:
    """Names of weights; how many signs there are is not known yet."""
    spec = recipe.spec(recipe.tokenizer.size)
    check_names(spec, recipe.train.freeze)
    return spec


class ParseJob:
    """fit/job.py says what each of these is."""

    begins_with: Path | None = None

    def __init__(self, recipe: Recipe, data: TreeData) -> None:
        self.recipe, self.data, self.spec = recipe, data, data.spec
        self.loss_of: LossOf = TranslationLoss(recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    @property
    def corpora(self) -> Sequence[Portion]:
        return ()

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        train = self.recipe.train
        order = BatchOrder(*self.lengths, train.token_budget, train.seed)
        return prefetched(self._at, order.start_at(epoch, number), train.loaders)

    def _at(self, place: PlannedBatch) -> Batch:
        marks, seed = self.data.codec.marks, self.recipe.train.seed
        first = [
            int(np.random.PCG64(np.random.SeedSequence([seed, place.epoch, int(i)])).random_raw())
            % marks
            for i in place.examples
        ]
        return self._batch(self.data.train, place.examples, first)

    def batch(self, numbers: Numbers) -> Batch:
        return self._batch(self.data.train, numbers, [0] * len(numbers))

    def _batch(self, store: Store, numbers: Numbers, first: Sequence[int]) -> Batch:
        chosen, marks = [int(i) for i in numbers], self.data.codec.rule.marks
        pairs = [
            (turned(store["source"][i], marks, by), turned(store["target"][i], marks, by))
            for i, by in zip(chosen, first, strict=True)
        ]
        return framed_batch(pairs, self.data.codec.frame, chosen)

    def validation(self, model: Transformer, quick: bool = False) -> "TreesJudged":
        """The loss of all held-out trees; the brackets of some, evenly chosen."""
        model.eval()
        train = self.recipe.train
        loss = in_less_memory(
            lambda budget: target_loss(model, self._held_out(budget)), train.token_budget
        )
        most = 0 if quick else train.bleu_sentences
        return TreesJudged(loss, self._counts(model, most) if most else None)

    def _counts(self, model: Transformer, most: int) -> BracketCounts:
        trees, codec = self.data.valid_trees, self.data.codec
        few = [tree for tree in trees if len(words_of_tree(tree)) <= (codec.most_words or 10**9)]
        chosen: list[Tree] = few[:: max(1, len(few) // most)][:most]
        rows = [words_of_tree(tree) for tree in chosen]
        parses = parse_rows(model, codec, rows, DecodingOptions(beam=1))
        return compare_all((parse.tree for parse in parses), chosen)

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        plan = plan_epoch(*lengths_of(store), token_budget=budget, seed=0, epoch=0)
        return (self._batch(store, numbers, [0] * len(numbers)) for numbers in plan)

    def start_weights(self, model: Transformer) -> FirstWeights:
        return FirstWeights()

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        codec = self.data.codec
        rows: list[dict[str, Any]] = []
        for i in range(len(batch)):
            source = batch["source"][i][batch["source_real"][i]].tolist()
            target = batch["target_out"][i][batch["target_real"][i]].tolist()[:-1]
            pieces = [token for token in source if token < codec.tokenizer.size]
            words = [str(n) for n in range(1, codec.rule.words(source) + 1)]
            rows.append(
                {
                    "example": batch.examples[i] if batch.examples else None,
                    "source": codec.tokenizer.decode(pieces),
                    "target": str(codec.tree(target, words)),
                }
            )
        return rows

    def lines(self, survey: Trees) -> list[str]:
        data, codec = self.data, self.data.codec
        too_long = len(survey.train) - len(data.train)
        left_out = f" ({too_long:,} too long, left out)" if too_long else ""
        section = self.recipe.data
        origin = f"phrasebook {section.phrasebook}" if section.phrasebook else "your file"
        return [
            f"Data:       {counted(len(data.train), 'tree')} to train on{left_out}, "
            f"{len(data.valid_trees):,} held out for validation ({origin})",
            f"Vocabulary: {codec.tokenizer.size:,} pieces, {len(codec.labels)} labels, "
            f"{counted(len(codec.tags), 'tag')}, {counted(codec.marks, 'mark')}",
        ]

    def remarks(self, survey: Trees) -> list[str]:
        return []

    def verify(self) -> None:
        self.data.train.verify()
        self.data.valid.verify()

    def forget_old(self, checkpoints: Any, best_step: int) -> None:
        """There is nothing that grows."""


@dataclass(frozen=True)
class TreesJudged:
    """A `Validated` (fit/job.py): `loss` in nats per sign, without label smoothing."""

    loss: float
    counts: BracketCounts | None = None

    @property
    def score(self) -> float | None:
        return None if self.counts is None else self.counts.f1

    @property
    def numbers(self) -> dict[str, float | None]:
        counts = self.counts
        exact = None if counts is None else counts.exact / max(1, counts.sentences)
        return {"f1": self.score, "exact": exact}

    def sentence(self) -> str:
        f1 = "" if self.score is None else f" · F1 {self.score:.2%} (greedy)"
        return f"validation loss {self.loss:.4f}{f1}"


def turned(ids: Any, marks: range, by: int) -> list[int]:
    """The same ids, each mark `by` numbers further."""
    row = np.asarray(ids, dtype=np.int64)
    is_mark = (row >= marks.start) & (row < marks.stop)
    further = (row - marks.start + by) % len(marks) + marks.start
    turned_ids: list[int] = np.where(is_mark, further, row).tolist()
    return turned_ids


def lengths_of(store: Store) -> tuple[Lengths, Lengths]:
    """The positions that each tree takes in a batch."""
    return store["source"].lengths, store["target"].lengths + 1


CODE = ObjectiveCode(
    check, survey_trees, prepare_trees, lambda run, recipe: ParseJob(recipe, load_trees(run))
)
