"""Answer: where in a context the answer to a question begins and ends; judged by window.

exact   share of windows whose best span has the right first and last token; of those that do not
        hold the answer, those where nothing is found (s_0 + e_0 is more than every span)
F1      2 · common tokens / (tokens of the answer found + tokens of the right one), their mean

`regard evaluate` counts words of whole contexts as SQuAD does (evaluate/questions.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from regard.answer.spans import span_band
from regard.bundle.encoder_file import ANSWERED
from regard.data.batch import Batch
from regard.data.buckets import Numbers
from regard.data.store import ColumnKind, Store
from regard.fit.encoder_job import EncoderJob, check, texts_of
from regard.fit.job import ObjectiveCode
from regard.model.transformer import Transformer
from regard.prepare.encoder_data import load_texts, prepare_texts
from regard.prepare.encoder_rows import read_asked, window_rows
from regard.prepare.phrase_tasks import asked_phrases
from regard.prepare.texts import Texts, survey_texts
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.losses import Answering, encoded, span_loss

PLACES = ("begin", "end", "context", "beyond")


def survey(recipe: Recipe) -> Texts:
    """Questions with contexts; those about one context are all learned from, or none of them."""
    read = partial(read_asked, own=recipe.own)
    data, seed = recipe.data, recipe.train.seed
    texts = survey_texts(data, seed, "question", read, asked_phrases, labelled=False)
    return replace(texts, key=lambda row: row.pair or "")


def prepare(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """Each question with the windows of its context."""
    encode = partial(window_rows, stride=recipe.own.stride)
    columns = {name: ColumnKind(recipe.data.max_tokens + 1, ragged=False) for name in PLACES}
    always = all(row.labels for row in texts.train())
    prepare_texts(run, recipe, texts, columns, encode, kind=ANSWERED if always else "")


def load(run: RunFolder, recipe: Recipe) -> EncoderJob:
    """What was prepared."""
    data = load_texts(run)

    def make_batch(store: Store, numbers: Numbers, chance: Sequence[int]) -> Batch:
        batch, chosen = texts_of(store, numbers, data.pad), [int(i) for i in numbers]
        begin, end, first, beyond = (
            torch.tensor([int(place) for place in store.numbers[name][chosen]]) for name in PLACES
        )
        places = torch.arange(batch["text"].shape[1])
        context = (places >= first[:, None]) & (places < beyond[:, None])
        return batch.having(begin=begin, end=end, text_context=context)

    loss, beyond = Answering(recipe.train.label_smoothing), "the rest is in further windows"
    return EncoderJob(recipe, data, loss, make_batch, judge, unit="window", beyond=beyond)


@dataclass(frozen=True)
class Found:
    """A `Validated` (fit/job.py): `loss` in nats a window; shares from 0 to 1."""

    loss: float
    exact: float
    f1: float

    @property
    def score(self) -> float:
        return self.f1

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"exact": self.exact, "f1": self.f1}

    def sentence(self) -> str:
        shares = f"exact {self.exact:.2%} · F1 {self.f1:.2%}"
        return f"validation loss {self.loss:.4f} · {shares}"


@torch.inference_mode()
def judge(
    model: Transformer, batches: Iterable[Batch], budget: int = 0, quick: bool = False
) -> Found:
    """Ask for every window; there is no quicker way."""
    model.eval()
    device = next(model.parameters()).device
    total, count, exact, f1 = 0.0, 0, 0.0, 0.0
    for one in batches:
        batch = one.to(device)
        logits = model.answer(encoded(model, batch)).float()
        total += float(span_loss(logits, batch, 0.0).plain)
        count += len(batch)
        begin, end = found_places(logits, batch["text_context"])
        right = (begin == batch["begin"]) & (end == batch["end"])
        last, first = torch.minimum(end, batch["end"]), torch.maximum(begin, batch["begin"])
        common = (last - first + 1).clamp(0)
        both = (end - begin + 1) + (batch["end"] - batch["begin"] + 1)
        exact += float(right.sum())
        f1 += float((2 * common / both).sum())
    return Found(total / count, exact / count, f1 / count)


def found_places(logits: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
    """First and last token of the best span of each window; 0 and 0 where nothing is found."""
    band = span_band(logits, context)
    best, place = band.flatten(1).max(dim=1)
    begin = torch.div(place, band.shape[2], rounding_mode="floor")
    nothing = logits[:, 0].sum(dim=-1) >= best
    return begin.masked_fill(nothing, 0), (begin + place % band.shape[2]).masked_fill(nothing, 0)


CODE = ObjectiveCode(check, survey, prepare, load)
