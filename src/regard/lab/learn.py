"""A small model is trained by the loop that trains all models (training/loop.py), and asked.

Its search is written out on full passes: an engine prepares weights of its own, and would not see
that a sub-module was replaced (variants.py).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from regard.data.batch import Batch, make_batch
from regard.data.buckets import BatchOrder
from regard.data.phrasebook.corpus import Entry
from regard.lab.lesson import Lesson
from regard.model.masks import padded
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.loop import training_steps
from regard.training.losses import translation_loss
from regard.training.optimizer import make_adam
from regard.training.schedule import cosine

PEAK = 3e-3  # of the learning rate
CLIP = 1.0
Change = Callable[[Transformer], object]


@dataclass(frozen=True)
class TrainedVariant:
    """A model, and its loss (plain, mean per token) at each step."""

    model: Transformer
    losses: tuple[float, ...]

    @property
    def end(self) -> float:
        """The mean of the last tenth."""
        last = self.losses[-max(1, len(self.losses) // 10) :]
        return sum(last) / len(last)


def small_spec(lesson: Lesson, **changes: object) -> Spec:
    """The paper's layer in its smallest size, without dropout."""
    sizes: dict[str, object] = {
        "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "heads": 4, "ffn_size": 128,
        "max_length": 64, "dropout": 0.0,
    }  # fmt: skip
    return Spec(lesson.tokenizer.size, **{**sizes, **changes})  # type: ignore[arg-type]


def learn(
    lesson: Lesson,
    seed: int,
    steps: int,
    spec: Spec,
    change: Change | None = None,
    budget: int = 512,
    smoothing: float = 0.0,
) -> TrainedVariant:
    """Train a new model for so many steps of `budget` tokens; `change` makes a variant of it."""
    model = Transformer(spec, seed)
    if change is not None:
        change(model)
    threads = torch.get_num_threads()
    loss_of = partial(translation_loss, epsilon=smoothing)
    parallel = DataParallel(model, loss_of, Compute(), seed)
    rate_at = partial(cosine, peak=PEAK, warmup=max(1, steps // 10), steps=steps)
    batches = batches_of(lesson, seed, budget)
    groups = ([next(batches)] for _ in range(steps))
    taken = training_steps(model, make_adam(model), groups, parallel.gradients, rate_at, CLIP)
    losses = tuple(step.plain_loss for step in taken)
    parallel.close()
    torch.set_num_threads(threads)
    return TrainedVariant(model.eval(), losses)


def batches_of(lesson: Lesson, seed: int, budget: int) -> Iterator[Batch]:
    """Batches without end, in the order of the seed."""
    pairs = lesson.ids(lesson.train)
    source, target = (np.array([len(pair[side]) + 1 for pair in pairs]) for side in (0, 1))
    order = BatchOrder(source, target, token_budget=budget, seed=seed)
    for planned in order.start_at():
        chosen = planned.examples.tolist()
        yield make_batch([pairs[i] for i in chosen], lesson.tokenizer.special, chosen)


@torch.no_grad()
def loss_on(model: Transformer, lesson: Lesson, entries: Sequence[Entry]) -> float:
    """The plain loss per token under teacher forcing."""
    batch = make_batch(lesson.ids(entries), lesson.tokenizer.special)
    return float(translation_loss(model, batch, 0.0).plain) / batch.targets


@torch.no_grad()
def answers(model: Transformer, lesson: Lesson, sources: Sequence[str]) -> list[str]:
    """Greedy translations, each text as its words with a space between."""
    special = lesson.tokenizer.special
    rows = [[*row, special.eos] for row in lesson.tokenizer.encode_batch(sources)]
    ids, real = padded(rows, special.pad, torch.device("cpu"))
    memory = model.encode(ids, real)
    output = torch.full((len(rows), 1), special.bos)
    ended = torch.zeros(len(rows), dtype=torch.bool)
    for _ in range(2 * ids.shape[1] + 5):
        best = model.token_logits(model.decode(output, memory, real)[:, -1]).argmax(dim=-1)
        output = torch.cat([output, best[:, None]], dim=1)
        ended |= best == special.eos
        if ended.all():
            break
    outputs = [
        row[: row.index(special.eos)] if special.eos in row else row for row in output.tolist()
    ]
    return lesson.tokenizer.decode_batch(row[1:] for row in outputs)


def references(lesson: Lesson, entries: Sequence[Entry]) -> list[str]:
    """The right translations, as `answers` writes texts."""
    return lesson.tokenizer.decode_batch(target for _, target in lesson.ids(entries))


def exact_share(model: Transformer, lesson: Lesson) -> float:
    """How many of the asked sentences come out as they stand there."""
    outputs = answers(model, lesson, [entry.source for entry in lesson.test])
    rights = references(lesson, lesson.test)
    return sum(a == b for a, b in zip(outputs, rights, strict=True)) / len(rights)
