"""Similar: vectors of two texts are compared; judged by how well cosines rank the pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from regard.bundle.pooling import read_pooling
from regard.data.batch import Batch, pad_rows
from regard.data.buckets import Numbers
from regard.data.labelled import Labelled
from regard.data.report import Report
from regard.data.store import FLOAT, Store, StoreRow
from regard.errors import ConfigError, DataError
from regard.fit.encoder_job import EncoderJob, check
from regard.fit.job import ObjectiveCode
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.texts import LabelPairs, Texts, check_labels, read_rows, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.objective_sections import SimilarSection
from regard.runs.sections import DataSection, Recipe
from regard.text.published import PublishedTokenizer
from regard.training.losses import Similarity


def survey(recipe: Recipe) -> Texts:
    """Pairs of texts; a score must be a number between low and high."""
    section = _section(recipe)
    if section.label_pairs:
        texts = survey_texts(recipe.data, recipe.train.seed, check=check_labels)
        scores = str(section.high), str(section.low)
        return LabelPairs(
            **vars(texts), times=section.label_pairs, alike=scores[0], apart=scores[1]
        )
    has_score = section.loss == "score"

    def read(path: Path, data: DataSection, report: Report) -> Iterator[Labelled]:
        for row in read_rows(path, data, report, labelled=has_score, score=has_score):
            score_of(row, section, path)
            yield row

    def check_valid(texts: Texts) -> None:
        for _ in texts.valid() if texts.data.valid_texts else ():
            pass

    data, seed = recipe.data, recipe.train.seed
    return survey_texts(data, seed, "pair", read, labelled=False, check=check_valid)


def _section(recipe: Recipe) -> SimilarSection:
    assert isinstance(recipe.own, SimilarSection)
    return recipe.own


def score_of(row: Labelled, similar: SimilarSection, path: Path) -> float:
    """The score of a row, from 0 to 1; 1 where pairs have none."""
    if similar.loss == "negatives":
        return 1.0
    try:
        score = (float(row.labels[0]) - similar.low) / (similar.high - similar.low)
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 1:
        expected = f"a number from {similar.low:g} to {similar.high:g} (similar.low, similar.high)"
        raise DataError(f"{path}: row {row.line}", f"score {row.labels[0]!r}", expected=expected)
    return score


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """The ids of both texts, each by itself, and their score."""

    def encode(tokenizer: PublishedTokenizer, row: Labelled, limit: int) -> StoreRow:
        assert row.pair is not None
        first, second = (
            list(tokenizer.encode(text, limit=limit).ids) for text in (row.text, row.pair)
        )
        score = score_of(row, _section(recipe), run.folder)
        return {"text": first, "first": len(first), "second": second, "score": score}

    prepare_texts(run, recipe, texts, {"second": None, "score": FLOAT}, encode)


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data, section = load_texts(run), _section(recipe)
    modes = read_pooling(run.folder).modes
    if len(modes) > 1:
        problem = f"its vectors are {' and '.join(modes)} side by side"
        raise ConfigError("train.start_from", problem, advice="similar is for one of them")
    similarity = Similarity(modes[0], section.loss == "negatives", section.scale)

    def make_batch(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        return pairs_of(store, numbers, data.pad)

    judge = partial(rank, similarity)
    return EncoderJob(recipe, data, similarity, make_batch, judge, cut=False)


def pairs_of(store: Store, numbers: Numbers, pad: int) -> Batch:
    """Both texts of each example, and their score."""
    chosen = [int(i) for i in numbers]
    text, text_real = pad_rows([store["text"][i].tolist() for i in chosen], pad)
    second, second_real = pad_rows([store["second"][i].tolist() for i in chosen], pad)
    tensors = {
        "text": text,
        "text_real": text_real,
        "second": second,
        "second_real": second_real,
        "score": torch.from_numpy(np.asarray(store.numbers["score"][chosen])),
    }
    return Batch(tensors, tuple(chosen))


@dataclass(frozen=True)
class Ranked:
    """A `Validated` (fit/job.py): `spearman` is 1 where the cosines of the pairs rise as their
    scores do (None: no scores); `partners`: the share of texts whose own second text is nearest
    among those of its batch."""

    loss: float
    spearman: float | None
    partners: float

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"spearman": self.spearman, "partners": self.partners}

    @property
    def score(self) -> float:
        return self.partners if self.spearman is None else self.spearman

    def sentence(self) -> str:
        ranked = "" if self.spearman is None else f" · Spearman {self.spearman:.4f}"
        return f"validation loss {self.loss:.4f}{ranked} · {self.partners:.1%} of partners nearest"


@torch.inference_mode()
def rank(
    similarity: Similarity, model: Transformer, batches: Iterator[Batch], budget: int, quick: bool
) -> Ranked:
    """Compare all pairs of each batch."""
    device = next(model.parameters()).device
    cosines, scores, total, nearest = [], [], 0.0, 0
    for one in batches:
        batch = one.to(device)
        total += float(similarity(model, batch).plain)
        table = similarity.cosines(model, batch).cpu()
        nearest += int((table.argmax(dim=1) == torch.arange(len(table))).sum())
        cosines.append(table.diagonal().numpy())
        scores.append(batch["score"].cpu().numpy())
    truth = np.concatenate(scores)
    ranked = None if similarity.negatives else spearman(np.concatenate(cosines), truth)
    return Ranked(total / len(truth), ranked, nearest / len(truth))


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


CODE = ObjectiveCode(check, survey, prepare, load)
