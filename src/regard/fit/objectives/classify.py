"""Classify: one label of each text, or any number of them; judged by loss, accuracy, F1.

accuracy   share of texts whose label is right; where several may hold, of those with all right
F1         2 TP / (2 TP + FP + FN) of each label, their mean (macro);
           where several may hold, of all answers together (micro)

Of a tagger (fit/objectives/tag.py) the same over the words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from regard.bundle.encoder_file import ONE, SEVERAL
from regard.data.batch import IGNORED, Batch
from regard.data.buckets import Numbers
from regard.data.labelled import Labelled
from regard.data.store import ColumnKind, Store, StoreRow
from regard.fit.encoder_job import EncoderJob, MakeBatch, check, texts_of
from regard.fit.job import ObjectiveCode
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import Encode, EncoderData, load_texts, prepare_texts, text_row
from regard.prepare.texts import Texts, check_labels, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.text.published import PublishedTokenizer
from regard.training.losses import Classification, classification_loss, encoded


def survey(recipe: Recipe) -> Texts:
    """Rows with labels."""
    return survey_texts(recipe.data, recipe.train.seed, check=check_labels)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """Each text with the numbers of its labels."""
    labels = texts.labels
    kind = SEVERAL if recipe.data.labels == "several" else ONE
    columns = {"labels": ColumnKind(len(labels))}
    prepare_texts(run, recipe, texts, columns, labelled_row(labels), labels, kind)


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data = load_texts(run)
    return EncoderJob(
        recipe, data, Classification(recipe.train.label_smoothing), batch_maker(data), judge
    )


def labelled_row(labels: Sequence[str]) -> Encode:
    """The columns of a text, and the places of its labels among these."""
    places = {name: i for i, name in enumerate(labels)}

    def encode(tokenizer: PublishedTokenizer, row: Labelled, limit: int) -> StoreRow:
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


@dataclass(frozen=True)
class Judged:
    """A `Validated` (fit/job.py): `loss` in nats a text, or a word; shares from 0 to 1."""

    loss: float
    accuracy: float
    f1: float
    score: float  # accuracy, or F1 where several labels may hold

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"accuracy": self.accuracy, "f1": self.f1}

    def sentence(self) -> str:
        shares = f"accuracy {self.accuracy:.2%} · F1 {self.f1:.2%}"
        return f"validation loss {self.loss:.4f} · {shares}"


def answered(model: Transformer, batch: Batch) -> Tensor:
    """The logits of texts."""
    logits: Tensor = model.answer(encoded(model, batch))
    return logits


@torch.inference_mode()
def judge(
    model: Transformer,
    batches: Iterable[Batch],
    budget: int = 0,
    quick: bool = False,
    answer_to: Callable[[Transformer, Batch], Tensor] = answered,
) -> Judged:
    """Ask for every text, or for every word that has a tag; there is no quicker way."""
    model.eval()
    device = next(model.parameters()).device
    total, count = 0.0, 0
    answers: list[Tensor] = []
    truth: list[Tensor] = []
    for one in batches:
        batch = one.to(device)
        logits = answer_to(model, batch)
        if "text_labels" in batch:
            has_tag = batch["text_labels"] != IGNORED
            logits, labels = logits[has_tag], batch["text_labels"][has_tag]
        else:
            labels = batch["labels"]
        total += float(classification_loss(logits, labels, epsilon=0.0).plain)
        count += len(labels)
        several = labels.is_floating_point()
        answers.append((logits > 0 if several else logits.argmax(dim=-1)).cpu())
        truth.append((labels > 0 if several else labels).cpu())
    answer, right = torch.cat(answers), torch.cat(truth)
    if right.dtype == torch.bool:
        f1 = f1_micro(answer, right)
        return Judged(total / count, float((answer == right).all(dim=1).float().mean()), f1, f1)
    accuracy = float((answer == right).float().mean())
    return Judged(total / count, accuracy, f1_macro(answer, right, logits.shape[-1]), accuracy)


def f1_micro(answers: Bool[Tensor, "n C"], truth: Bool[Tensor, "n C"]) -> float:
    """Of all answers together; 1 where there was nothing to find and nothing was found."""
    both = int((answers & truth).sum())
    either = int(answers.sum()) + int(truth.sum())
    return 2 * both / either if either else 1.0


def f1_macro(answers: Int[Tensor, " n"], truth: Int[Tensor, " n"], classes: int) -> float:
    """The mean over the classes that occur, in the answers or in truth."""
    both = torch.bincount(truth[answers == truth], minlength=classes)
    either = torch.bincount(truth, minlength=classes) + torch.bincount(answers, minlength=classes)
    shares: Float[Tensor, " C"] = 2 * both[either > 0] / either[either > 0]
    return float(shares.mean())


CODE = ObjectiveCode(check, survey, prepare, load)
