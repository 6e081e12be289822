"""Fill: the words behind masks; judged by loss, the share that is found, pseudo-perplexity."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from regard.answer.pseudo_perplexity import pseudo_perplexity
from regard.data.batch import IGNORED, Batch
from regard.data.buckets import Numbers
from regard.data.noise import Masking
from regard.data.store import Store
from regard.errors import MisuseError
from regard.fit.encoder_job import EncoderJob, check, texts_of
from regard.fit.job import ObjectiveCode
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.texts import Texts, read_rows, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import DataSection, Recipe
from regard.text.published import PublishedTokenizer
from regard.training.label_smoothing import smoothed_cross_entropy
from regard.training.losses import Filling, encoded


def survey(recipe: Recipe) -> Texts:
    """Texts that are learned from by themselves."""
    read = partial(read_rows, labelled=False)
    return survey_texts(recipe.data, recipe.train.seed, "text", read)


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """Each text as it is: what is hidden changes from epoch to epoch."""
    prepare_texts(run, recipe, texts, columns={})


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data = load_texts(run)
    masking = masking_of(data.tokenizer, recipe.data)

    def make_batch(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        batch = texts_of(store, numbers, data.pad)
        text, labels = masking(batch["text"], batch["text_real"], chance)
        return batch.having(text=text, text_labels=labels)

    def judge(model: Transformer, batches: Iterator[Batch], budget: int, quick: bool) -> Filled:
        store = data.valid
        count = 0 if quick else min(len(store), recipe.train.bleu_sentences)
        texts = [(store["text"][i].tolist(), int(store.numbers["first"][i])) for i in range(count)]
        return found_again(model, batches, texts, masking, data.pad, budget)

    return EncoderJob(recipe, data, Filling(recipe.train.label_smoothing), make_batch, judge)


def masking_of(tokenizer: PublishedTokenizer, data: DataSection) -> Masking:
    """What may be hidden, and which pieces go on with a word."""
    mask = tokenizer.mask_id
    if mask is None:
        raise MisuseError("fill", "this tokenizer has no mask token, so no word can be hidden")
    special = set(tokenizer.codec.special.values())
    ordinary = [i for i, token in enumerate(tokenizer.codec.tokens) if token and i not in special]
    return Masking(mask, np.array(ordinary), tokenizer.later, data.mask, data.whole_words)


@dataclass(frozen=True)
class Filled:
    """A `Validated` (fit/job.py): `loss` in nats per hidden token; `accuracy`: the share whose
    likeliest candidate is right."""

    loss: float
    accuracy: float
    pseudo_perplexity: float | None  # of some texts; None where none were asked for

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"accuracy": self.accuracy, "pseudo_perplexity": self.pseudo_perplexity}

    @property
    def score(self) -> float:
        return self.accuracy

    def sentence(self) -> str:
        surprise = self.pseudo_perplexity
        said = "" if surprise is None else f" · pseudo-perplexity {surprise:.2f}"
        return f"validation loss {self.loss:.4f} · {self.accuracy:.1%} of hidden words found{said}"


@torch.inference_mode()
def found_again(
    model: Transformer,
    batches: Iterable[Batch],
    texts: Sequence[tuple[list[int], int]],
    masking: Masking,
    pad: int,
    token_budget: int,
) -> Filled:
    """Ask for what the batches hide; and for every token of `texts`, one at a time."""
    model.eval()
    device = next(model.parameters()).device
    total, right, count = 0.0, 0, 0
    for one in batches:
        batch = one.to(device)
        hidden = batch["text_labels"] != IGNORED
        logits = model.token_logits(encoded(model, batch)[hidden])
        truth = batch["text_labels"][hidden]
        total += float(smoothed_cross_entropy(logits, truth, 0.0).plain)
        right += int((logits.argmax(dim=-1) == truth).sum())
        count += len(truth)
    surprise = None
    if texts:
        ordinary = set(masking.ordinary.tolist())
        rows, first = zip(*texts, strict=True)
        surprise = pseudo_perplexity(
            model, rows, first, ordinary.__contains__, masking.mask, pad, token_budget
        )
    return Filled(total / max(1, count), right / max(1, count), surprise)


CODE = ObjectiveCode(check, survey, prepare, load)
