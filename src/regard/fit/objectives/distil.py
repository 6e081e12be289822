"""Distil: a student with half the layers learns to classify as its teacher does."""

from itertools import chain

from regard.answer.loaded import open_model
from regard.bundle.encoder_file import ONE
from regard.bundle.labels import read_labels
from regard.data.store import ColumnKind
from regard.errors import ConfigError
from regard.fit import encoder_job
from regard.fit.encoder_job import EncoderJob
from regard.fit.job import ObjectiveCode
from regard.fit.objectives.classify import batch_maker, judge, labelled_row, survey
from regard.fit.warm_start import take_layers
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.start import Start, open_start
from regard.prepare.texts import Texts, refuse_unseen
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.losses import Distillation
from regard.training.teacher import save_teacher

TEACHER = "teacher"  # its copy, in the data of a run


def check(recipe: Recipe) -> None:
    """A teacher is a classifier."""
    encoder_job.check(recipe, _check_teacher)


def _check_teacher(start: Start) -> None:
    if start.spec.head != "classes":
        problem = f"{start.folder} has no classes to teach, its head is {start.spec.head!r}"
        expected = "a run that classifies or a published classifier"
        raise ConfigError("train.start_from", problem, expected=expected)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """Each text with its label among those of the teacher, and the teacher itself."""
    assert recipe.train.start_from is not None and texts.data.texts is not None
    start = open_start(recipe.train.start_from)
    labels = read_labels(start.folder, start.spec.classes).names
    refuse_unseen(texts.data.texts, chain(texts.train(), texts.valid()), set(labels))
    save_teacher(open_model(start.folder, "cpu").transformer, run.data / TEACHER)
    layers = (start.spec.encoder_layers + 1) // 2
    columns, encode = {"labels": ColumnKind(len(labels))}, labelled_row(labels)
    prepare_texts(run, recipe, texts, columns, encode, labels, ONE, encoder_layers=layers)


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data, teacher = load_texts(run), str((run.data / TEACHER).resolve())
    loss_of = Distillation(teacher, **vars(recipe.own))
    return EncoderJob(recipe, data, loss_of, batch_maker(data), judge, take_layers)


CODE = ObjectiveCode(check, survey, prepare, load)
