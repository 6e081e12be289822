"""What a training will take, said before its first step; what cannot fit is refused with advice.

memory     from shapes (training/memory_estimate.py), beside what is free
disk       the checkpoints that are kept at once, beside what is free
time       of an epoch, from the speed that the self-test measured
data       padding, pieces that training never shows, what looks wrong (data/suspicion.py)
"""

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from regard.data.buckets import BatchOrder, Lengths, Numbers, padding_share
from regard.data.mixture import Portion
from regard.data.store import Store
from regard.data.suspicion import look_at, suspicions, validation_suspicions
from regard.errors import MisuseError
from regard.fit.checkpoints import FEWEST
from regard.fit.job import Job
from regard.model.spec import Spec, parameter_count
from regard.prepare.pairs import Corpus, PreparedPairs
from regard.printable import counted
from regard.processor.machine import cores
from regard.runs.sections import Recipe, TrainSection
from regard.training.compute import Compute
from regard.training.memory_estimate import (
    BatchShape,
    Learned,
    Need,
    activations,
    learned_by,
    memory_need,
)
from regard.training.memory_limit import MEGABYTE, PROGRAM, room, used_memory

FIRST_USE = 90 * MEGABYTE  # that libraries take when the first step calls them (measured)
GUESSED_LENGTH = 32  # positions of a sentence, before the corpus is counted
CHUNK = 1 << 22  # ids counted at once


@dataclass(frozen=True)
class BatchShapes:
    """The batches of one epoch: how many, how full, and which is the largest in memory."""

    batches: int
    tokens: int
    padding: float
    largest: BatchShape
    examples: Numbers  # of the largest


def shapes_of(
    lengths: tuple[Lengths, Lengths],
    spec: Spec,
    train: TrainSection,
    corpora: Sequence[Portion] = (),
) -> BatchShapes:
    """Plan the first epoch and look at its batches."""
    source, target = lengths
    plan = BatchOrder(source, target, train.token_budget, train.seed, corpora).plan(epoch=0)

    def shape(batch: Numbers) -> BatchShape:
        return BatchShape(len(batch), int(source[batch].max()), int(target[batch].max()))

    examples = max(plan, key=lambda batch: activations(spec, shape(batch)))
    tokens = sum(int(source[b].sum()) + int(target[b].sum()) for b in plan)
    padding = padding_share(plan, source, target)
    return BatchShapes(len(plan), tokens, padding, shape(examples), examples)


def steps_within(job: Job, train: TrainSection, speed: float) -> float:
    """How many steps the minutes allow at so many tokens a second."""
    shapes = shapes_of(job.lengths, job.spec, train, job.corpora)
    tokens = shapes.tokens / shapes.batches * train.accumulate
    return max(1.0, 60 * (train.minutes or 0.0) * speed / tokens)


def guessed_shape(train: TrainSection) -> BatchShape:
    """The largest batch by the budget alone: ordinary sentences, as many as it holds."""
    rows = max(1, train.token_budget // (2 * GUESSED_LENGTH))
    return BatchShape(rows, GUESSED_LENGTH, GUESSED_LENGTH)


def guessed_compute(train: TrainSection) -> Compute:
    """The way to compute that takes most memory among those that may be chosen."""
    workers = train.workers or (cores() if not train.threads else train.threads)
    return Compute("bf16" if train.precision == "bf16" else "fp32", workers, 1, train.kernels)


def need_of(recipe: Recipe, spec: Spec, shape: BatchShape, compute: Compute) -> Need:
    """The memory that a recipe's training takes."""
    train, learned = recipe.train, _learned(recipe, spec)
    return memory_need(spec, shape, compute, train.accumulate, train.ema > 0, learned)


def _learned(recipe: Recipe, spec: Spec) -> Learned:
    return learned_by(spec, recipe.lora.rank, recipe.lora.maps)


def check_fits(spec: Spec, recipe: Recipe, shape: BatchShape, folder: Path) -> None:
    """Refuse what memory or disk cannot hold, before it is begun."""
    train = recipe.train
    compute = guessed_compute(train)
    need = need_of(recipe, spec, shape, compute)
    have = room(train.memory, compute.workers)
    if have is not None and need.total > have:
        fixed = need.weights + need.adam + max(need.gradients, need.checkpoint)
        advice = (
            "choose a smaller model (model.preset, model.d_model) or vocabulary (tokenizer.size)"
            if fixed > have
            else f"lower train.token_budget ({train.token_budget:,}) and raise train.accumulate as "
            "much; `regard train --find-batch` finds the largest that fits"
        )
        alone = room(train.memory)
        one = need_of(recipe, spec, shape, replace(compute, workers=1))
        if (train.workers or train.threads) > 1 and alone is not None and one.total <= alone:
            key = "workers" if train.workers else "threads"
            advice = f"lower train.{key} ({compute.workers:,}), each takes memory of its own"
        raise MisuseError(
            f"memory: training needs about {size(need.total)} beside what is in use, "
            f"{size(have)} can be had; {advice}; --force tries all the same"
        )
    wanted, free = checkpoint_bytes(spec, recipe), shutil.disk_usage(_existing(folder)).free
    if wanted > free:
        raise MisuseError(
            f"disk: checkpoints need about {size(wanted)}, {size(free)} are free at {folder}; free "
            "some, choose another folder (--run), or lower train.average "
            f"({train.average}); --force tries all the same"
        )


def checkpoint_bytes(spec: Spec, recipe: Recipe) -> int:
    """The most that checkpoints take at once: those to average, the best, a new one; the result."""
    train, learned = recipe.train, _learned(recipe, spec)
    weights = 4 * parameter_count(spec)
    averaged = learned.gradients if train.ema else 0
    each = weights + 4 * (2 * learned.moments + learned.copies + averaged)
    regular = max(FEWEST, train.average)
    if train.last_step is not None and train.validate_every:
        regular = min(regular, math.ceil(train.last_step / train.validate_every))
    return each * (regular + 2) + weights


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


@dataclass(frozen=True)
class HeldMemory:
    """Bytes, before the model is there: what the program holds, and what it may hold in all."""

    program: int
    most: int | None

    @classmethod
    def now(cls, train: TrainSection) -> "HeldMemory":
        """As the system says at this moment."""
        program, more = used_memory() or PROGRAM, room(train.memory)
        return cls(program + FIRST_USE, None if more is None else program + more)


def report(
    recipe: Recipe, job: Job, compute: Compute, speed: float, folder: Path, held: HeldMemory
) -> Iterator[str]:
    """Lines for a person: what the training will take."""
    spec, train = job.spec, recipe.train
    shapes = shapes_of(job.lengths, spec, train, job.corpora)
    need = need_of(recipe, spec, shapes.largest, compute)
    programs = held.program + (compute.workers - 1) * PROGRAM  # workers have their own
    yield _memory_line(need, programs, held.most)
    kept, free = checkpoint_bytes(spec, recipe), shutil.disk_usage(_existing(folder)).free
    yield f"Disk:       about {size(kept)} for checkpoints; {size(free)} are free"
    yield _time_line(shapes, train, speed)
    one = shapes.largest
    row = f"({one.source} + {one.target})" if one.target else f"{one.source}"
    yield (
        f"Batches:    {shapes.batches:,} an epoch, {shapes.padding:.1%} padding; the largest "
        f"{one.rows} × {row} tokens"
    )


def _memory_line(need: Need, program: int, most: int | None) -> str:
    free = "" if most is None else f"; {size(most)} can be had"
    return (
        f"Memory:     about {size(need.total + program)} at peak (weights {size(need.weights)}, "
        f"Adam {size(need.adam)}, gradients {size(need.gradients)}, activations "
        f"{size(need.activations)}, the program {size(program)}){free}"
    )


def _time_line(shapes: BatchShapes, train: TrainSection, speed: float) -> str:
    seconds = shapes.tokens / speed
    steps = train.last_step
    epochs = math.inf if steps is None else steps * train.accumulate / shapes.batches
    whole = ""
    if steps:
        many = f"{counted(steps, 'step')} {'is' if steps == 1 else 'are'}"
        whole = f"; {many} {epochs:,.1f} epochs, {duration(seconds * epochs)}"
    if train.minutes is not None and 60 * train.minutes < seconds * epochs:
        within = 60 * train.minutes / seconds
        minutes = "1 minute is" if train.minutes == 1 else f"{train.minutes:g} minutes are"
        whole = f"; {minutes} at most {within:,.1f} epochs"
    return (
        f"Time:       about {duration(seconds)} an epoch ({shapes.tokens:,} tokens at "
        f"{speed:,.0f} a second){whole}, validation aside"
    )


@dataclass(frozen=True)
class Coverage:
    """How much of the validation set the vocabulary and the training pairs prepare for."""

    tokens: int
    words: int
    unknown: int  # tokens for which the vocabulary has no piece
    unseen: int  # tokens whose piece no training pair holds
    bytewise: int  # tokens that are one byte of a character that has several


def coverage(data: PreparedPairs) -> Coverage:
    """Count the validation tokens against the training pairs."""
    tokenizer = data.tokenizer
    valid, shown = _counts(data.valid, tokenizer.size), _counts(data.train, tokenizer.size)
    labels = tokenizer.pieces(range(tokenizer.size))
    halves = np.array([text.startswith("‹") and text.endswith("›") for text in labels])
    words = sum(len(text.split()) for pair in data.valid_texts for text in pair)
    in_vocabulary = valid.copy()
    in_vocabulary[tokenizer.special.unk] = 0
    return Coverage(
        tokens=int(valid.sum()),
        words=words,
        unknown=int(valid[tokenizer.special.unk]),
        unseen=int(in_vocabulary[shown == 0].sum()),
        bytewise=int(valid[halves].sum()),
    )


def coverage_line(data: PreparedPairs) -> str:
    """The coverage in a line."""
    counts = coverage(data)
    tokens = max(1, counts.tokens)
    spelled = f", {counts.bytewise / tokens:.2%} are bytes of rare characters"
    return (
        f"Coverage:   validation has {tokens / max(1, counts.words):.2f} pieces a word; "
        f"{counts.unknown / tokens:.2%} are unknown, {counts.unseen / tokens:.2%} are in no "
        f"training pair{spelled if data.tokenizer.kind == 'bytes' else ''}"
    )


def _counts(pairs: Store, size: int) -> Numbers:
    """How often each id comes, on both sides."""
    counts = np.zeros(size, dtype=np.int64)
    for ids in (column.values for column in pairs.columns.values()):
        for start in range(0, len(ids), CHUNK):
            counts += np.bincount(ids[start : start + CHUNK], minlength=size)
    return counts


def warnings(recipe: Recipe, corpus: Corpus, data: PreparedPairs) -> list[str]:
    """What looks wrong with the data; the embedded corpus has been looked at, and of documents
    language and length are not those of translations."""
    if recipe.data.phrasebook or recipe.data.documents:
        return []
    look = look_at(corpus.train())
    said = suspicions(look, (recipe.data.source, recipe.data.target))
    return said + validation_suspicions(look, data.valid_texts)


def size(count: float) -> str:
    """Bytes for a person: 950 kB, 12.3 MB, 1.2 GB."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.{0 if count >= 100 * unit else 1}f} {name}"
    return f"{count / 1e3:.0f} kB"


def duration(seconds: float) -> str:
    """A time for a person: 0.4 seconds, 12 seconds, 3:20 minutes, 5:02 hours."""
    if seconds < 60:
        return f"{seconds:.0f} seconds" if seconds >= 2 else f"{seconds:.1f} seconds"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} minutes"
    return f"{minutes // 60}:{minutes % 60:02d} hours"
