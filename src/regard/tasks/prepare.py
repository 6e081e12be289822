"""Corpus → run folder: the tokenizer, the training pairs as ids, validation and test pairs as text.

Reads the corpus in passes (count and clean, learn the vocabulary, encode) and never holds it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from regard import atomic
from regard.config import build
from regard.data.corpus import Limits, Pair, Report, read_pairs, split_for_validation
from regard.data.phrasebook.corpus import NOTES, Entry, phrasebook
from regard.data.store import PairStore, write_store
from regard.draw.progress import progress_bar
from regard.errors import DataError
from regard.tasks.recipe import DataSection, Recipe
from regard.tasks.run import Run
from regard.text.tokenizer import Tokenizer

CHUNK = 1000  # pairs encoded at once
FEWEST = 20  # pairs of which some can be held out
# How often an epoch shows each sentence of the notes: they are few, unlike all others, and must
# come out word by word.
NOTES_REPEATED = 8


@dataclass(frozen=True)
class Prepared:
    """What training needs of the data."""

    tokenizer: Tokenizer
    train: PairStore
    valid: PairStore
    valid_texts: list[tuple[str, str]]


@dataclass(frozen=True)
class Corpus:
    """The pairs of a recipe, as things to be read any number of times."""

    data: DataSection
    seed: int
    report: Report  # of the counting pass

    def train(self) -> Iterator[tuple[str, str]]:
        if self.data.phrasebook:
            yield from _phrases(self.data.phrasebook, "train")
        else:
            yield from (p for p, held_out in self._pairs() if not held_out)

    def valid(self) -> Iterator[tuple[str, str]]:
        if self.data.phrasebook:
            yield from _phrases(self.data.phrasebook, "dev")
        elif self.data.valid_source:
            limits = _limits(self.data)
            pairs = read_pairs(self.data.valid_source, self.data.valid_target, Report(), limits)
            yield from ((pair.source, pair.target) for pair in pairs)
        else:
            yield from (p for p, held_out in self._pairs() if held_out)

    def _pairs(self) -> Iterator[tuple[tuple[str, str], bool]]:
        share = 0.0 if self.data.valid_source else held_out_share(self.data, self.report.kept)
        for pair in _read(self.data, Report()):
            held_out = split_for_validation(pair.source, fraction=share, seed=self.seed)
            yield (pair.source, pair.target), held_out


def held_out_share(data: DataSection, pairs: int) -> float:
    """`validation` pairs, but never more than a tenth of the corpus (a fifth of a tiny one)."""
    return min(0.1 if pairs >= 100 else 0.2, data.validation / max(1, pairs))


def survey(data: DataSection, seed: int) -> Corpus:
    """Count and check the corpus; refuse one that is more than half bad."""
    report = Report()
    with progress_bar("making the phrasebook" if data.phrasebook else "reading", None) as bar:
        if data.phrasebook:
            report.total = report.kept = sum(1 for _ in _phrases(data.phrasebook, "train"))
        else:
            for _ in _read(data, report):
                bar.advance()
            if data.valid_source:  # a wrong file is said now, not after the vocabulary
                for _ in read_pairs(data.valid_source, data.valid_target, Report(), _limits(data)):
                    bar.advance()
        if not data.phrasebook and not data.valid_source and report.kept < FEWEST:
            raise DataError(
                f"corpus: {report.kept} pairs are too few to hold some out for validation, "
                f"{FEWEST} are the least; add more, or give some to validate on (data.valid_source)"
            )
    return Corpus(data, seed, report)


def prepare(run: Run, recipe: Recipe, corpus: Corpus) -> Prepared:
    """Fill the run's data folder and load it."""
    with progress_bar("vocabulary", corpus.report.kept) as bar:
        lines = _sentences(corpus.train(), bar.advance)
        tokenizer = Tokenizer.train(lines, recipe.tokenizer.kind, recipe.tokenizer.size)
    tokenizer.save(run.tokenizer)
    most = recipe.data.max_tokens
    valid = list(corpus.valid())
    for name, pairs in {"train": corpus.train(), "valid": iter(valid)}.items():
        with progress_bar(f"encoding {name}", None) as bar:
            ids = _encoded(tokenizer, pairs, most, bar.advance)
            store = write_store(run.data / name, ids, tokenizer.size)
        if not len(store):
            raise DataError(
                f"corpus: no {name} pair is left: data.max_tokens ({most}) is too low, or chance "
                "held none out; then give pairs to validate on as data.valid_source"
            )
    _write_rows(run.data / "valid.jsonl", ({"source": s, "target": t} for s, t in valid))
    if recipe.data.phrasebook:
        book = phrasebook(recipe.data.phrasebook)
        _write_rows(run.data / "test.jsonl", (asdict(e) for e in book if e.split == "test"))
        _write_rows(run.data / "notes.jsonl", (asdict(e) for e in book if NOTES in e.slices))
    return load_prepared(run)


def load_prepared(run: Run) -> Prepared:
    """What `prepare` left in the run folder."""
    rows = read_texts(run.data / "valid.jsonl")
    return Prepared(
        Tokenizer.load(run.tokenizer),
        PairStore.open(run.data / "train"),
        PairStore.open(run.data / "valid"),
        [(row["source"], row["target"]) for row in rows],
    )


def read_texts(path: Path) -> list[dict[str, Any]]:
    """The rows of a validation or test file of a run."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:  # only "\n" ends a row
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        raise DataError(f"{path}: this run has no such set") from None


def kept_entries(run: Run, name: str) -> list[Entry]:
    """The phrasebook's `test` or `notes` pairs of a run (kept with it: the grammar may change)."""
    path = run.data / f"{name}.jsonl"
    return [build(Entry, row, str(path)) for row in read_texts(path)]


def _phrases(language: str, split: str) -> Iterator[tuple[str, str]]:
    for entry in phrasebook(language):
        if entry.split == split:
            repeated = NOTES_REPEATED if NOTES in entry.slices else 1
            yield from repeat((entry.source, entry.target), repeated)


def _limits(data: DataSection) -> Limits:
    return Limits(max_characters=data.max_characters, max_ratio=data.max_ratio)


def _read(data: DataSection, report: Report) -> Iterator[Pair]:
    assert data.source is not None
    return read_pairs(data.source, data.target, report, _limits(data))


def _sentences(pairs: Iterable[tuple[str, str]], advance: Callable[[int], None]) -> Iterator[str]:
    for source, target in pairs:
        yield source
        yield target
        advance(1)


def _encoded(
    tokenizer: Tokenizer,
    pairs: Iterator[tuple[str, str]],
    most: int,
    advance: Callable[[int], None],
) -> Iterator[tuple[list[int], list[int]]]:
    """Ids of both sides; pairs with more than `most` tokens on a side are left out."""
    while chunk := list(islice(pairs, CHUNK)):
        sources = tokenizer.encode_batch([source for source, _ in chunk])
        targets = tokenizer.encode_batch([target for _, target in chunk])
        for source, target in zip(sources, targets, strict=True):
            if max(len(source), len(target)) <= most:
                yield source, target
        advance(len(chunk))


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    atomic.write_text(path, "".join(f"{line}\n" for line in lines))
