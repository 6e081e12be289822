"""The job of an encoder whose vectors are compared: judged by how well cosines rank the pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from regard.bundle.pooling import read_pooling
from regard.data.batch import pad_rows
from regard.data.buckets import BatchOrder, Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.data.pair_batch import PairBatch
from regard.data.prefetch import ahead
from regard.data.store import PairStore
from regard.data.text_batch import AnyBatch
from regard.errors import ConfigError
from regard.fit.encoder_job import within_memory
from regard.fit.job import Began
from regard.fit.warm_start import take_weights
from regard.model.transformer import Transformer
from regard.prepare.scored_pairs import Scores, SimilarData
from regard.runs.folder import Run
from regard.runs.recipe import Recipe
from regard.training.objectives import Similarity
from regard.training.worker import LossOf


@dataclass(frozen=True)
class Ranked:
    """`spearman`: 1 where the cosines of the pairs rise as their scores do (None: no scores);
    `partners`: the share of texts whose own second text is nearest among those of its batch."""

    loss: float
    spearman: float | None
    partners: float

    @property
    def numbers(self) -> dict[str, float | None]:
        """For the log, beside the loss."""
        return {"spearman": self.spearman, "partners": self.partners}

    @property
    def score(self) -> float:
        """What is judged by."""
        return self.partners if self.spearman is None else self.spearman

    def sentence(self) -> str:
        """For a person."""
        ranked = "" if self.spearman is None else f" · Spearman {self.spearman:.4f}"
        return f"validation loss {self.loss:.4f}{ranked} · {self.partners:.1%} of partners nearest"


class SimilarJob:
    """fit/job.py says what each of these is."""

    def __init__(self, run: Run, recipe: Recipe, data: SimilarData) -> None:
        self.recipe, self.data = recipe, data
        self.spec = data.spec
        modes = read_pooling(run.folder).modes
        if len(modes) > 1:
            raise ConfigError(
                f"train.start_from: its vectors are {' and '.join(modes)} side by side; similar is "
                "for one of them"
            )
        negatives = recipe.similar.loss == "negatives"
        self.similarity = Similarity(modes[0], negatives, recipe.similar.scale)
        self.objective: LossOf = self.similarity
        self.begins_with = recipe.train.start_from

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return _lengths(self.data.train)

    @property
    def parts(self) -> Sequence[Portion]:
        return ()

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, PairBatch]]:
        train = self.recipe.train
        order = BatchOrder(*self.lengths, train.token_budget, train.seed)
        places = order.start_at(epoch, number)
        return ahead(lambda place: self.batch(place.examples), places, train.loaders)

    def batch(self, numbers: Numbers) -> PairBatch:
        return self._made(self.data.train, self.data.train_scores, numbers)

    def _made(self, store: PairStore, scores: Scores, numbers: Numbers) -> PairBatch:
        chosen = [int(i) for i in numbers]
        rows = [store[i] for i in chosen]
        first = pad_rows([ids.tolist() for ids, _ in rows], self.data.pad)
        second = pad_rows([ids.tolist() for _, ids in rows], self.data.pad)
        return PairBatch(*first, *second, torch.from_numpy(scores[chosen]), tuple(chosen))

    def validation(self, model: Transformer, quick: bool = False) -> Ranked:
        return within_memory(lambda budget: self._validation(model, budget), self.recipe)

    @torch.inference_mode()
    def _validation(self, model: Transformer, budget: int) -> Ranked:
        model.eval()
        store, scores = self.data.valid, self.data.valid_scores
        device = next(model.parameters()).device
        cosines, wanted, total, nearest = [], [], 0.0, 0
        for numbers in plan_epoch(*_lengths(store), token_budget=budget, seed=0, epoch=0):
            batch = self._made(store, scores, numbers).to(device)
            total += float(self.similarity(model, batch).plain)
            found = self.similarity.cosines(model, batch).cpu()
            nearest += int((found.argmax(dim=1) == torch.arange(len(found))).sum())
            cosines.append(found.diagonal().numpy())
            wanted.append(batch.scores.cpu().numpy())
        truth = np.concatenate(wanted)
        ranked = None if self.similarity.negatives else spearman(np.concatenate(cosines), truth)
        return Ranked(total / len(store), ranked, nearest / len(store))

    def start_weights(self, model: Transformer) -> Began:
        if self.begins_with is None:
            return Began()
        return Began(warm=take_weights(model, self.begins_with, same_words=True))

    def examples(self, batch: AnyBatch) -> list[dict[str, Any]]:
        assert isinstance(batch, PairBatch)
        decode = self.data.tokenizer.decode
        return [
            {
                "example": batch.ids[i] if batch.ids else None,
                "text": decode(batch.source[i][batch.real[i]].tolist()),
                "pair": decode(batch.second[i][batch.second_real[i]].tolist()),
                "score": float(batch.scores[i]),
            }
            for i in range(len(batch.source))
        ]

    def verify(self) -> None:
        self.data.train.verify()
        self.data.valid.verify()

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        """There is nothing that grows."""


def _lengths(store: PairStore) -> tuple[Lengths, Lengths]:
    """As batches are planned by, which count one position more on each side: here there is none."""
    return store.source_lengths - 1, store.target_lengths - 1


def spearman(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The correlation of ranks; equal values share the mean of theirs. 0 where one is constant."""
    a, b = (_ranks(np.asarray(values, dtype=np.float64)) for values in (one, other))
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / size) if size else 0.0


def _ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Float[np.ndarray, " n"] = (last - (counts - 1) / 2)[place]
    return ranks
