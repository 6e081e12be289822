"""Tag: a label for each word, which is asked for at its first piece."""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import IGNORED, Batch
from regard.data.buckets import Numbers
from regard.data.store import ColumnKind, Store
from regard.fit.encoder_job import EncoderJob, check, texts_of
from regard.fit.job import ObjectiveCode
from regard.fit.objectives.classify import judge
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.encoder_rows import read_tags, tagged_row
from regard.prepare.phrase_tasks import tagged_phrases
from regard.prepare.texts import Texts, check_labels, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.losses import Tagging


def survey(recipe: Recipe) -> Texts:
    """Sentences whose words have tags."""
    tags = partial(check_labels, learner="tagger", unit="word")
    data, seed = recipe.data, recipe.train.seed
    return survey_texts(data, seed, read=read_tags, phrases=tagged_phrases, check=tags)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """Each text with a tag for each of its pieces."""
    labels = texts.labels
    encode = partial(tagged_row, places={name: i for i, name in enumerate(labels)})
    prepare_texts(run, recipe, texts, {"tags": ColumnKind(len(labels) + 1)}, encode, labels)


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data = load_texts(run)

    def make_batch(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        batch = texts_of(store, numbers, data.pad)
        rows = [store["tags"][int(i)].tolist() for i in numbers]
        return batch.having(text_labels=tags_of(rows, batch["text"].shape[1]))

    return EncoderJob(recipe, data, Tagging(recipe.train.label_smoothing), make_batch, judge)


def tags_of(rows: list[list[int]], width: int) -> Int[Tensor, "B S"]:
    """The tag of each place, from prepare/encoder_rows.py; IGNORED where no word begins."""
    labels = torch.full((len(rows), width), IGNORED)
    for row, tags in zip(labels, rows, strict=True):
        row[: len(tags)] = torch.tensor(tags, dtype=torch.long) - 1
    return labels.masked_fill(labels < 0, IGNORED)


CODE = ObjectiveCode(check, survey, prepare, load)
