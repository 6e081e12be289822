"""Classify: one label of each text, or any number of them."""

from collections.abc import Sequence

import torch
from jaxtyping import Shaped
from torch import Tensor

from regard.bundle.encoder_file import ONE, SEVERAL
from regard.data.batch import Batch
from regard.data.buckets import Numbers
from regard.data.labelled import Labelled
from regard.data.store import Kind, Row, Store
from regard.fit.encoder_job import EncoderJob, MakeBatch, check, texts_of
from regard.fit.judge_labels import judge
from regard.prepare.encoder_data import Encode, EncoderData, load_texts, prepare_texts, text_row
from regard.prepare.texts import Texts, check_labels, survey_texts
from regard.runs.folder import Run
from regard.runs.sections import Recipe
from regard.text.published import PublishedTokenizer
from regard.training.objectives import Classification

__all__ = ["check", "load", "prepare", "survey"]


def survey(recipe: Recipe) -> Texts:
    """Rows with labels."""
    return survey_texts(recipe.data, recipe.train.seed, check=check_labels)


def prepare(run: Run, recipe: Recipe, texts: Texts) -> EncoderJob:
    """Each text with the numbers of its labels."""
    labels = texts.labels
    kind = SEVERAL if recipe.data.labels == "several" else ONE
    columns = {"labels": Kind(len(labels))}
    prepare_texts(run, recipe, texts, columns, labelled_row(labels), labels, kind)
    return load(run, recipe)


def load(run: Run, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data = load_texts(run)
    return EncoderJob(
        recipe, data, Classification(recipe.train.label_smoothing), batch_maker(data), judge
    )


def labelled_row(labels: Sequence[str]) -> Encode:
    """The columns of a text, and the places of its labels among these."""
    places = {name: i for i, name in enumerate(labels)}

    def encode(tokenizer: PublishedTokenizer, row: Labelled, limit: int) -> Row:
        return {**text_row(tokenizer, row, limit), "labels": [places[name] for name in row.labels]}

    return encode


def batch_maker(data: EncoderData) -> MakeBatch:
    """Texts with the class of each; or with a number for each class, 1 where it holds."""

    def make(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        rows = [store["labels"][int(i)].tolist() for i in numbers]
        return texts_of(store, numbers, data.pad).having(labels=_labels(rows, data))

    return make


def _labels(rows: list[list[int]], data: EncoderData) -> Shaped[Tensor, "B *C"]:
    if not data.file.several:
        return torch.tensor([row[0] for row in rows])
    labels = torch.zeros(len(rows), len(data.file.labels))
    for labelled, row in zip(labels, rows, strict=True):
        labelled[torch.tensor(row, dtype=torch.long)] = 1.0
    return labels
