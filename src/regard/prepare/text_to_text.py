"""Pairs or plain texts → run folder, for a model that makes a text of a text.

tokenizer files, generation_config.json   those of the folder that training begins with, or new
encoder.json, spec.json                   the family, and the model
data/tasks.jsonl                          each task: prefix, weight, metric, number of pairs
data/train, data/valid                    ids; of plain texts, before spans are taken out
data/valid.jsonl, data/tasks-test.jsonl   the same held-out pairs as text, with their tasks
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from regard import atomic
from regard.bundle.codec import Codec, published_codec
from regard.bundle.encoder_file import EncoderFile
from regard.bundle.generation_settings import read_settings, settings_as_said
from regard.config import build, to_tables
from regard.data.batch import Batch, Ids, pad_rows
from regard.data.labelled import Labelled
from regard.data.spans import FEWEST, SpanCorruption
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.decode.engine import Frame
from regard.decode.options import Rules
from regard.draw.terminal.progress import progress_bar
from regard.errors import ConfigError, DataError
from regard.model.spec import Spec
from regard.prepare.pairs import write_rows
from regard.prepare.start import (
    generator_spec,
    kept_spec,
    kept_tokenizer,
    open_text_to_text,
    tokenizer_for,
)
from regard.prepare.tasks import KeptTask, TaskPairs, Tasks
from regard.prepare.texts import Texts
from regard.printable import Advance, unheard
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.sections import Recipe
from regard.text.encoder_tokenizer import save_for_text_to_text, sentinel
from regard.text.published import PublishedTokenizer
from regard.text.special import Special
from regard.text.tokenizer import Tokenizer

GENERATION = "generation_config.json"
TASKS, VALID, TEST = "tasks.jsonl", "valid.jsonl", "tasks-test.jsonl"  # in the folder of data
CHUNK = 1000  # pairs encoded at once


@dataclass(frozen=True)
class TaskRow:
    """A held-out pair; the source has its prefix."""

    task: str
    source: str
    target: str


@dataclass(frozen=True)
class TextToTextData:
    """What training needs of the data."""

    spec: Spec
    tokenizer: PublishedTokenizer
    codec: Codec
    rules: Rules
    train: Store
    valid: Store
    tasks: tuple[KeptTask, ...]  # none where holes are filled
    rows: tuple[TaskRow, ...]

    @property
    def frame(self) -> Frame:
        """Padding, start and end."""
        return self.codec.frame


def prepare_tasks(run: RunFolder, recipe: Recipe, survey: Tasks) -> None:
    """Fill the run's data folder with pairs."""
    sides = (text for task in survey.tasks for pair in task.train() for text in pair)
    spec, codec, limit = _prepare_model(run, recipe, sides)
    kinds = dict.fromkeys(("source", "target"), ColumnKind(spec.vocabulary))
    kept: list[KeptTask] = []
    rows = {VALID: list[TaskRow](), TEST: list[TaskRow]()}
    for task in survey.tasks:
        for file, pairs in {VALID: task.valid(), TEST: task.test()}.items():
            rows[file] += [TaskRow(task.section.name, *pair) for pair in pairs]
    with progress_bar("encoding", sum(task.count for task in survey.tasks)) as bar:
        cut = recipe.data.documents
        train = _one_after_another(codec, survey.tasks, limit, cut, kept, bar.advance)
        write_store(run.data / "train", kinds, train)
        held_out = ((row.source, row.target) for row in rows[VALID])
        valid = write_store(run.data / "valid", kinds, encoded_pairs(codec, held_out, limit, cut))
    for each in kept:
        if not each.pairs:
            raise _none_left(each.name, "train on", limit)
    if not len(valid):
        raise _none_left(kept[0].name, "validate on", limit)
    write_rows(run.data / TASKS, (task.row() for task in kept))
    for file, listed in rows.items():
        if listed:
            write_rows(run.data / file, map(vars, listed))


def prepare_spans(run: RunFolder, recipe: Recipe, texts: Texts) -> None:
    """The same with plain texts; one that is too long is cut into several."""
    spec, codec, limit = _prepare_model(run, recipe, (row.text for row in texts.train()))
    corruption_of(recipe, kept_tokenizer(run))  # or an error
    kinds = {"text": ColumnKind(spec.vocabulary)}
    most = max(1, limit - 1)  # beside the end
    with progress_bar("encoding", texts.report.kept) as bar:

        def encoded(rows: Iterable[Labelled]) -> Iterator[StoreRow]:
            for row in rows:
                ids = codec.encode_target(row.text)
                parts = (ids[first : first + most] for first in range(0, len(ids), most))
                yield from ({"text": part} for part in parts if len(part) >= FEWEST)
                bar.advance()

        for name, rows in {"train": texts.train(), "valid": texts.valid()}.items():
            if not len(write_store(run.data / name, kinds, encoded(rows))):
                raise DataError("texts", f"too little text to {name} on", advice="give more")


def corruption_of(recipe: Recipe, tokenizer: PublishedTokenizer) -> SpanCorruption:
    """Which spans are taken out, and the ids that stand for them."""
    special = tokenizer.codec.special
    names = (sentinel(n) for n in range(len(special)))
    ids = tuple(special[name] for name in names if name in special)
    if not ids:
        problem = "the tokenizer has no signs for holes, <extra_id_0> and so on"
        advice = "begin with a T5 folder, or from scratch with text-to-text.sentinels"
        raise ConfigError("text-to-text.corrupt", problem, advice=advice)
    return SpanCorruption(ids, recipe.own.share, recipe.own.span)


def _prepare_model(run: RunFolder, recipe: Recipe, texts: Iterable[str]) -> tuple[Spec, Codec, int]:
    """Tokenizer, settings and spec in the run's folder; the most tokens of a text, the end too."""
    start = open_text_to_text(recipe)

    def save(learned: Tokenizer, folder: Path) -> None:
        save_for_text_to_text(learned, folder, recipe.own.sentinels)

    tokenizer = tokenizer_for(run, recipe.tokenizer, start, texts, None, save)
    # Ids may stand in config.json, which a run does not have.
    settings = _new_settings() if start is None else settings_as_said(start.folder)
    atomic.write_json(run.folder / GENERATION, settings)
    spec = generator_spec(recipe, tokenizer, start)
    family = start.family.name if start else "t5" if spec.positions == "relative" else "regard"
    limit = recipe.data.max_tokens
    if spec.positions not in ("relative", "rotary"):
        limit = min(limit, spec.max_length)
    EncoderFile(family, limit).write(run.folder)
    write_own_json(run.spec, to_tables(spec))
    return spec, _codec_of(run, spec, tokenizer), limit


def _new_settings() -> dict[str, int]:
    """Where the outputs of a model like T5 start and end."""
    special = Special()
    ids = {"pad": special.pad, "eos": special.eos, "decoder_start": special.pad}
    return {f"{role}_token_id": number for role, number in ids.items()}


def _one_after_another(
    codec: Codec,
    tasks: Iterable[TaskPairs],
    limit: int,
    cut: bool,
    kept: list[KeptTask],
    advance: Advance,
) -> Iterator[StoreRow]:
    """The ids of all tasks in a row; `kept` is told how many pairs each has."""
    for task in tasks:
        section, total, count = task.section, Tally(), 0
        for row in encoded_pairs(codec, total.of(task.train()), limit, cut, advance):
            yield row
            count += 1
        told = (section.name, count, section.weight, section.prefix, section.metric)
        kept.append(KeptTask(*told, total.count - count))


class Tally:
    """Counts what goes by."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for pair in pairs:
            self.count += 1
            yield pair


def encoded_pairs(
    codec: Codec,
    pairs: Iterable[tuple[str, str]],
    limit: int,
    cut: bool = False,
    advance: Advance = unheard,
) -> Iterator[StoreRow]:
    """Ids of both sides: the source as the model reads it, the target without start and end.

    Pairs with more than `limit` tokens on a side are left out, or with `cut` their sources are read
    so far, and end as all do.
    """
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        sources = codec.encode([source for source, _ in chunk])
        for ids, (_, text) in zip(sources, chunk, strict=True):
            target = codec.encode_target(text)
            if cut and len(ids) > limit:
                ids = [*ids[: limit - 1], ids[-1]]
            if max(len(ids), len(target) + 1) <= limit:
                yield {"source": ids, "target": target}
        advance(len(chunk))


def framed_batch(
    pairs: Iterable[tuple[Ids, Ids]], frame: Frame, examples: Iterable[int] = ()
) -> Batch:
    """Lay pairs out for teacher forcing; a source is as the model reads it."""
    sides = [(np.asarray(one).tolist(), np.asarray(other).tolist()) for one, other in pairs]
    targets = [target for _, target in sides]
    source, source_real = pad_rows([ids for ids, _ in sides], frame.pad)
    target_in, target_real = pad_rows([[frame.start, *ids] for ids in targets], frame.pad)
    target_out, _ = pad_rows([[*ids, frame.end] for ids in targets], frame.pad)
    tensors = {
        "source": source,
        "source_real": source_real,
        "target_in": target_in,
        "target_out": target_out,
        "target_real": target_real,
    }
    return Batch(tensors, tuple(examples))


def load_text_to_text(run: RunFolder) -> TextToTextData:
    """What was prepared."""
    run.check_data()
    tokenizer = kept_tokenizer(run)
    spec = kept_spec(run)
    is_paired = (run.data / TASKS).is_file()
    return TextToTextData(
        spec,
        tokenizer,
        _codec_of(run, spec, tokenizer),
        read_settings(run.folder, spec.vocabulary).rules,
        Store.open(run.data / "train"),
        Store.open(run.data / "valid"),
        kept_tasks(run) if is_paired else (),
        held_out_rows(run, VALID) if is_paired else (),
    )


def kept_tasks(run: RunFolder) -> tuple[KeptTask, ...]:
    """The tasks of a run."""
    path = run.whole(TASKS)
    return tuple(build(KeptTask, row, str(path)) for row in read_texts(path))


def held_out_rows(run: RunFolder, name: str) -> tuple[TaskRow, ...]:
    """The pairs of a run that were kept as text."""
    path = run.whole(name)
    return tuple(build(TaskRow, row, str(path)) for row in read_texts(path))


def _codec_of(run: RunFolder, spec: Spec, tokenizer: PublishedTokenizer) -> Codec:
    return published_codec(tokenizer, read_settings(run.folder, spec.vocabulary))


def _none_left(name: str, what: str, limit: int) -> DataError:
    problem = f"no pair is left to {what}: all have more than {limit} tokens on a side"
    return DataError(name, problem, advice="raise data.max_tokens")
