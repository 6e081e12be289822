"""Parse: the signs of a sentence's tree as a target, judged by loss and brackets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.answer.parse import parse_rows
from regard.data.batch import IGNORED, Batch
from regard.data.brackets import BracketCounts, compare_all
from regard.data.buckets import Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.store import Store
from regard.data.trees import Tree, bracketed, words_of_tree
from regard.decode.options import DecodingOptions
from regard.fit.held_out_pairs import target_loss
from regard.fit.job import ObjectiveCode, StoredJob
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.text_to_text import framed_batch
from regard.prepare.trees import TreeData, Trees, load_trees, prepare_trees, survey_trees
from regard.printable import counted
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import ParsingLoss, parsing_loss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf


def check(recipe: Recipe) -> Spec:
    """Names of weights; how many signs there are is not known yet."""
    spec = recipe.spec(recipe.tokenizer.size)
    check_names(spec, recipe.train.freeze)
    return spec


@dataclass
class ParseJob(StoredJob):
    """fit/job.py says what each of these is."""

    data: TreeData

    @property
    def loss_of(self) -> LossOf:
        return ParsingLoss(self.recipe.train.label_smoothing)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    def at(self, place: PlannedBatch) -> Batch:
        return self._batch(self.data.train, place.examples)

    def batch(self, numbers: Numbers) -> Batch:
        return self._batch(self.data.train, numbers)

    def _batch(self, store: Store, numbers: Numbers) -> Batch:
        chosen, codec = [int(i) for i in numbers], self.data.codec
        pairs = [(store["source"][i], store["target"][i]) for i in chosen]
        batch = framed_batch(pairs, codec.frame, chosen)
        return batch.having(target_labels=asked(batch, codec.tokenizer.size))

    def validation(self, model: Transformer, quick: bool = False) -> "TreesJudged":
        """The loss of all held-out trees; the brackets of some, evenly chosen."""
        model.eval()
        train = self.recipe.train
        loss = in_less_memory(
            lambda budget: target_loss(model, self._held_out(budget), parsing_loss),
            train.token_budget,
        )
        most = 0 if quick else train.bleu_sentences
        return TreesJudged(loss, self._counts(model, most) if most else None)

    def _counts(self, model: Transformer, most: int) -> BracketCounts:
        trees, codec = self.data.valid_trees, self.data.codec
        chosen: list[Tree] = list(trees[:: max(1, len(trees) // most)][:most])
        most_tokens = self.spec.position_limit
        chosen = [tree for tree in chosen if codec.fits(words_of_tree(tree), most_tokens)]
        rows = [words_of_tree(tree) for tree in chosen]
        parses = parse_rows(model, codec, rows, DecodingOptions(beam=1))
        return compare_all((parse.tree for parse in parses), chosen)

    def _held_out(self, budget: int) -> Iterator[Batch]:
        store = self.data.valid
        plan = plan_epoch(*lengths_of(store), token_budget=budget, seed=0, epoch=0)
        return (self._batch(store, numbers) for numbers in plan)

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        codec = self.data.codec
        rows: list[dict[str, Any]] = []
        for i in range(len(batch)):
            source = batch["source"][i][batch["source_real"][i]].tolist()
            target = batch["target_out"][i][batch["target_real"][i]].tolist()[:-1]
            words = [codec.tokenizer.decode(word) for word in codec.rule.words(source)]
            rows.append(
                {
                    "example": batch.examples[i] if batch.examples else None,
                    "source": " ".join(words),
                    "target": bracketed(codec.tree(target, words)),
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
            f"{counted(len(codec.tags), 'tag')}",
        ]


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


def asked(batch: Batch, pieces: int) -> Int[Tensor, "B L"]:
    """What is learned of a target: its signs; the words' pieces, which are below `pieces` as the
    end is, are announced by the rule and asked of nobody."""
    truth, real = batch["target_out"], batch["target_real"]
    last = real.sum(dim=1, keepdim=True) - 1
    is_end = torch.arange(truth.shape[1]) == last
    return truth.masked_fill(~(real & ((truth >= pieces) | is_end)), IGNORED)


def lengths_of(store: Store) -> tuple[Lengths, Lengths]:
    """The positions that each tree takes in a batch."""
    return store["source"].lengths, store["target"].lengths + 1


CODE = ObjectiveCode(
    check, survey_trees, prepare_trees, lambda run, recipe: ParseJob(recipe, load_trees(run))
)
