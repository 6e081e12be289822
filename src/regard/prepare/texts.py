"""Texts with labels → run folder: the tokenizer, ids and labels, the held-out texts.

Reads the file in passes (count and check, learn the vocabulary, encode) and never holds it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from regard import atomic
from regard.answer.load import load
from regard.bundle.encoder_file import ONE, SEVERAL, EncoderFile, read_encoder_file
from regard.bundle.labels import read_labels
from regard.checkpoint.around import copy_around
from regard.checkpoint.files import read_json
from regard.config import build, to_tables
from regard.data.corpus import Limits, Report, split_for_validation
from regard.data.labelled import Labelled, in_order, read_labelled
from regard.data.phrasebook.corpus import phrasebook
from regard.data.store import PairStore, write_store
from regard.draw.counted import counted
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError, DataError
from regard.model.spec import Spec
from regard.prepare.encoder_spec import Start, encoder_spec, open_start
from regard.prepare.pairs import held_out_share
from regard.prepare.tagged import read_tags, tagged_ids, tagged_phrases
from regard.runs.columns import columns_of
from regard.runs.folder import Run, read_texts, write_json
from regard.runs.recipe import Recipe
from regard.runs.sections import DataSection
from regard.text.encoder_tokenizer import save_for_encoder
from regard.text.published import PublishedTokenizer, load_tokenizer
from regard.text.tokenizer import Tokenizer
from regard.training.teacher import save_teacher

TEACHER = "teacher"  # its copy, in the data of a run that distils
SHOWN = 5  # labels that a sentence lists


@dataclass(frozen=True)
class Texts:
    """The rows of a recipe, as things to be read any number of times."""

    data: DataSection
    seed: int
    report: Report  # of the counting pass
    counts: Counter[str]  # of each label; empty where there are none
    labelled: bool = True
    tags: bool = False  # labels are of words (prepare/tagged.py)
    scores: bool = False  # labels are numbers
    characters: int = 0  # of all texts

    @property
    def labels(self) -> tuple[str, ...]:
        """Their names, in the order of the classes."""
        return in_order(set(self.counts))

    def lines(self) -> list[str]:
        """What was read, for a person."""
        read = [] if self.data.phrasebook else self.report.lines()
        if not self.counts:
            return read
        shown = [f"{name} {self.counts[name]:,}" for name in self.labels[: 2 * SHOWN]]
        more = ", …" if len(self.labels) > 2 * SHOWN else ""
        return [*read, f"{counted(len(self.labels), 'label')}: {', '.join(shown)}{more}."]

    def train(self) -> Iterator[Labelled]:
        """Those to learn from."""
        if self.data.phrasebook:
            return self._phrases("train")
        return (row for row, held_out in self._rows() if not held_out)

    def valid(self) -> Iterator[Labelled]:
        """Those to validate on."""
        if self.data.phrasebook:
            return self._phrases("dev")
        if self.data.valid_texts is not None:
            return self._read(self.data.valid_texts)
        return (row for row, held_out in self._rows() if held_out)

    def _phrases(self, split: str) -> Iterator[Labelled]:
        return (tagged_phrases if self.tags else english_phrases)(self.data.phrasebook, split)

    def _read(self, path: Path) -> Iterator[Labelled]:
        if self.tags:
            return read_tags(path, self.data, Report())
        own = path == self.data.texts
        return read_rows(path, self.data, Report(), self.labelled, own, self.scores)

    def _rows(self) -> Iterator[tuple[Labelled, bool]]:
        assert self.data.texts is not None
        share = 0.0 if self.data.valid_texts else held_out_share(self.data, self.report.kept)
        for row in self._read(self.data.texts):
            yield row, split_for_validation(whole(row), fraction=share, seed=self.seed)


def whole(row: Labelled) -> str:
    """All of its text, by which rows are parted into those to learn from and to validate on."""
    return row.text if row.pair is None else f"{row.text}\t{row.pair}"


def english_phrases(language: str, split: str) -> Iterator[Labelled]:
    """The English sentences of the phrasebook, each once."""
    found = dict.fromkeys(entry.source for entry in phrasebook(language) if entry.split == split)
    return (Labelled(text, None, (), line) for line, text in enumerate(found, start=1))


def read_rows(
    path: Path,
    data: DataSection,
    report: Report,
    labelled: bool = True,
    own: bool = True,
    score: bool = False,
) -> Iterator[Labelled]:
    """The rows of a file, its columns as the recipe says.

    `own` is false of another file than the one that the recipe describes: it may have others.
    """
    columns = columns_of(data, labelled, own, score)
    return read_labelled(path, columns, report, Limits(data.max_characters))


def refuse_unseen(path: Path, rows: Iterable[Labelled], known: set[str]) -> None:
    """A label that training has never seen cannot be answered: name it."""
    unseen = Counter(label for row in rows for label in row.labels if label not in known)
    if unseen:
        named = ", ".join(f"{name!r} ({n:,})" for name, n in unseen.most_common(SHOWN))
        more = ", …" if len(unseen) > SHOWN else ""
        raise DataError(
            f"{path}: labels that training has not seen: {named}{more}; known are "
            f"{', '.join(map(repr, in_order(known)[: 4 * SHOWN]))}"
        )


@dataclass(frozen=True)
class EncoderData:
    """What training needs of the data."""

    spec: Spec
    file: EncoderFile
    tokenizer: PublishedTokenizer
    train: PairStore  # ids with special tokens; how many are of the first text, and the labels
    valid: PairStore

    @property
    def pad(self) -> int:
        """The id that fills up rows."""
        return self.tokenizer.roles.get("pad", 0)


def prepare_texts(run: Run, recipe: Recipe, texts: Texts) -> EncoderData:
    """Fill the run's data folder and load it."""
    start = None if recipe.train.start_from is None else open_start(recipe.train.start_from)
    tokenizer = tokenizer_for(run, recipe, texts, start)
    labels = texts.labels
    if recipe.objective == "distil":
        assert start is not None and texts.data.texts is not None
        labels = read_labels(start.folder, start.spec.classes).names
        refuse_unseen(texts.data.texts, chain(texts.train(), texts.valid()), set(labels))
        save_teacher(load(start.folder, "cpu").transformer, run.data / TEACHER)
    spec = encoder_spec(recipe, rows_needed(tokenizer, start), len(labels), start)
    limits = (recipe.data.max_tokens, spec.position_limit, tokenizer.max_length)
    limit = min(most for most in limits if most is not None)
    kind = SEVERAL if recipe.data.labels == "several" else ONE
    kind = kind if texts.labelled and not texts.tags else ""
    file = EncoderFile(start.family if start else "regard", limit, labels, kind)
    file.write(run.folder)
    write_json(run.spec, to_tables(spec))
    valid = list(texts.valid())
    with progress_bar("encoding", None) as bar:
        places = {name: i for i, name in enumerate(labels)}
        bound = max(spec.vocabulary, limit + 1, len(places) + 1)

        def encoded(rows: Iterable[Labelled]) -> Iterator[tuple[list[int], list[int]]]:
            turned = tagged_ids if texts.tags else _labelled_ids
            for row in rows:
                yield turned(tokenizer, row, limit, places)
                bar.advance(1)

        stores = {
            "train": write_store(run.data / "train", encoded(texts.train()), bound),
            "valid": write_store(run.data / "valid", encoded(valid), bound),
        }
    for name, store in stores.items():
        if not len(store):
            raise DataError(
                f"texts: no {name} row is left; give rows to validate on as valid_texts"
            )
    write_valid(run, valid)
    return load_texts(run)


def write_valid(run: Run, valid: Iterable[Labelled]) -> None:
    """The held-out rows, for people and for `regard evaluate`."""
    rows = ({"text": row.text, "pair": row.pair, "labels": row.labels} for row in valid)
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    atomic.write_text(run.data / "valid.jsonl", "".join(f"{line}\n" for line in lines))


def tokenizer_for(
    run: Run, recipe: Recipe, texts: Texts, start: Start | None
) -> PublishedTokenizer:
    """That of the model that training starts from, or one that is learned from the texts."""
    if start is not None:
        copy_around(start.folder, run.folder)
    else:
        with progress_bar("vocabulary", texts.report.kept) as bar:
            lines = _sentences(texts.train(), bar.advance)
            learned = Tokenizer.train(lines, recipe.tokenizer.kind, recipe.tokenizer.size)
        save_for_encoder(learned, run.folder)
    tokenizer = load_tokenizer(run.folder)
    if tokenizer is None:
        assert start is not None
        raise CheckpointError(f"{start.folder}: has no tokenizer files, so text cannot become ids")
    return tokenizer


def rows_needed(tokenizer: PublishedTokenizer, start: Start | None) -> int:
    """Rows of the embedding; a published one may have more than its tokenizer has tokens."""
    if start is not None and tokenizer.size > start.spec.vocabulary:
        raise CheckpointError(
            f"{start.folder}: the tokenizer knows {tokenizer.size} tokens, the weights "
            f"{start.spec.vocabulary}; its files belong to another model"
        )
    return tokenizer.size if start is None else start.spec.vocabulary


def _sentences(rows: Iterable[Labelled], advance: Callable[[int], None]) -> Iterator[str]:
    for row in rows:
        yield row.text
        if row.pair is not None:
            yield row.pair
        advance(1)


def _labelled_ids(
    tokenizer: PublishedTokenizer, row: Labelled, limit: int, places: dict[str, int]
) -> tuple[list[int], list[int]]:
    """Ids; and how many of them are of the first text, followed by the labels."""
    whole = tokenizer.encode(row.text, row.pair, limit)
    first = len(whole.segments) - sum(map(bool, whole.segments))
    return list(whole.ids), [first, *(places[label] for label in row.labels)]


def load_texts(run: Run) -> EncoderData:
    """What `prepare_texts` left in the run folder."""
    run.check_data()
    tokenizer = load_tokenizer(run.folder)
    if tokenizer is None:
        raise CheckpointError(f"{run.folder}: the files of its tokenizer are gone; copy it again")
    return EncoderData(
        build(Spec, read_json(run.spec), str(run.spec)),
        read_encoder_file(run.folder),
        tokenizer,
        PairStore.open(run.data / "train"),
        PairStore.open(run.data / "valid"),
    )


def held_out(run: Run) -> list[Labelled]:
    """The rows that a run validates on."""
    rows: list[dict[str, Any]] = read_texts(
        run.whole("valid.jsonl"), text=str, pair=str | None, labels=list
    )
    return [
        Labelled(row["text"], row["pair"], tuple(row["labels"]), line)
        for line, row in enumerate(rows, start=1)
    ]
