"""Corpus → run folder: the tokenizer, the training pairs as ids, validation and test pairs as text.

Reads the corpus in passes (count and clean, learn the vocabulary, encode) and never holds it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from regard import atomic
from regard.bundle.named import folder_of
from regard.bundle.words_seen import write_words
from regard.config import build
from regard.data.corpus import Limits, Pair, read_pairs, split_for_validation
from regard.data.mixture import Portion
from regard.data.phrasebook.corpus import NOTES, Entry, phrasebook
from regard.data.report import Report
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.data.suspicion import Different
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.more_corpora import Further, Unseen, survey_further
from regard.printable import Advance, counted
from regard.runs.columns import sides_of, with_columns
from regard.runs.folder import RunFolder, read_texts
from regard.runs.sections import DataSection, Recipe
from regard.text.tokenizer import Tokenizer

CHUNK = 1000  # pairs encoded at once
MOST_OF_A_DOCUMENT = 1_000_000  # characters
PARTS = "parts.jsonl"  # the corpora of a run, with their sizes and weights
FEWEST = 20  # pairs of which some can be held out
# How often an epoch shows each sentence of the notes: they are few, unlike all others, and must
# come out word by word.
NOTES_REPEATED = 8


@dataclass(frozen=True)
class PreparedPairs:
    """What training needs of the data."""

    tokenizer: Tokenizer
    train: Store
    valid: Store
    valid_texts: list[tuple[str, str]]
    corpora: tuple[Portion, ...] = ()  # that `train` is made of


@dataclass(frozen=True)
class Corpus:
    """The pairs of a recipe, as things to be read any number of times."""

    data: DataSection
    seed: int
    report: Report  # of the counting pass
    further: tuple[Further, ...] = ()

    def lines(self) -> list[str]:
        """What was read, for a person."""
        own = [] if self.data.phrasebook else self.report.lines()
        if self.data.documents:
            own.append("Documents: neither their length nor the ratio of lengths leaves one out.")
        return own + [line for each in self.further for line in each.lines()]

    def train(self) -> Iterator[tuple[str, str]]:
        if self.data.phrasebook:
            yield from _phrases(self.data.phrasebook, "train")
        else:
            yield from (p for p, held_out in self._pairs() if not held_out)

    def valid(self) -> Iterator[tuple[str, str]]:
        if self.data.phrasebook:
            yield from _phrases(self.data.phrasebook, "dev")
        elif self.data.valid_source:
            limits = limits_of(self.data)
            sides = sides_of(self.data, own=False)
            files = self.data.valid_source, self.data.valid_target
            pairs = read_pairs(*files, Report(), limits, sides)
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


def refuse_few(place: str, count: int, what: str, key: str) -> None:
    """Of so many none can be held out; `key` would give some to validate on."""
    if count < FEWEST:
        few = f"too few to hold some out for validation, {FEWEST} are the least"
        advice = f"add more, or give some to validate on ({key})"
        raise DataError(place, f"{counted(count, what)}: {few}", advice=advice)


def survey_pairs(data: DataSection, seed: int) -> Corpus:
    """Count and check the corpus; refuse one that is more than half bad."""
    report = Report()
    with progress_bar("reading", None) as bar:
        if data.phrasebook:
            report.total = report.kept = sum(1 for _ in _phrases(data.phrasebook, "train"))
        else:
            pairs, sources = Different(2), Different(2)
            for pair in _read(data, report):
                pairs.see(f"{pair.source} → {pair.target}")
                sources.see(pair.source)
                bar.advance()
            if not data.valid_source:
                pairs.check("corpus", report.kept, "pair", "data.valid_source")
                sources.check("corpus", report.kept, "source sentence", "data.valid_source")
            if data.valid_source:  # a wrong file is said now, not after the vocabulary
                files, sides = (data.valid_source, data.valid_target), sides_of(data, own=False)
                for _ in read_pairs(*files, Report(), limits_of(data), sides):
                    bar.advance()
        if not data.phrasebook and not data.valid_source:
            refuse_few("corpus", report.kept, "pair", "data.valid_source")
        data = with_columns(data, report)
        sides = sides_of(data, own=False)
        further = [survey_further(more, limits_of(data), sides, bar.advance) for more in data.more]
    return Corpus(data, seed, report, tuple(further))


def prepare(run: RunFolder, recipe: Recipe, corpus: Corpus) -> None:
    """Fill the run's data folder."""
    tokenizer = _vocabulary(recipe, corpus)
    tokenizer.save(run.tokenizer)
    most, cut = recipe.data.max_tokens, recipe.data.documents
    valid = list(corpus.valid())
    with progress_bar("encoding", None) as bar:

        def encoded(pairs: Iterable[tuple[str, str]]) -> Iterator[StoreRow]:
            return _encoded(tokenizer, iter(pairs), most, cut, bar.advance)

        portions: list[Portion] = []
        sides = dict.fromkeys(("source", "target"), ColumnKind(tokenizer.size))
        write_store(run.data / "train", sides, _one_after_another(corpus, valid, encoded, portions))
        store = write_store(run.data / "valid", sides, encoded(valid))
    for name, pairs in {"train": portions[0].pairs, "valid": len(store)}.items():
        if not pairs:
            raise _none_left(name, corpus, valid, most)
    write_rows(run.data / PARTS, map(asdict, portions))
    write_rows(run.data / "valid.jsonl", ({"source": s, "target": t} for s, t in valid))
    if recipe.data.phrasebook:
        book = phrasebook(recipe.data.phrasebook)
        write_rows(run.data / "test.jsonl", (asdict(e) for e in book if e.split == "test"))
        write_rows(run.data / "notes.jsonl", (asdict(e) for e in book if NOTES in e.slices))
        write_words(run.data, (source for source, _ in corpus.train()))


def _none_left(name: str, corpus: Corpus, valid: list[tuple[str, str]], most: int) -> DataError:
    """Why there is nothing to learn from, or nothing to validate on."""
    sources = Different()
    for source, _ in chain(corpus.train(), valid):
        sources.see(source)
    if name == "valid" and not valid and not corpus.data.valid_source:
        return DataError(
            f"corpus: {counted(corpus.report.kept, 'pair')}, but only {len(sources):,} different "
            "source sentences, and chance held none of them out for validation; give pairs to "
            "validate on as data.valid_source, or another train.seed"
        )
    problem = f"no {name} pair is left: all have more tokens than data.max_tokens ({most})"
    return DataError("corpus", problem, advice="raise it")


def _vocabulary(recipe: Recipe, corpus: Corpus) -> Tokenizer:
    """That of the run that training starts from, or one that is learned from the corpus."""
    if recipe.train.start_from is not None:
        start = RunFolder(folder_of(recipe.train.start_from))
        if start.info.is_file():
            return Tokenizer.load(start.tokenizer)
    total = corpus.report.kept + sum(each.report.kept for each in corpus.further)
    with progress_bar("vocabulary", total) as bar:
        further = (each.pairs() for each in corpus.further)
        lines = _sentences(chain(corpus.train(), *further), bar.advance)
        section = recipe.tokenizer
        return Tokenizer.train(lines, section.kind, section.size, section.codes)


def load_prepared(run: RunFolder) -> PreparedPairs:
    """What `prepare` left in the run folder."""
    run.check_data()
    rows = read_texts(run.data / "valid.jsonl", source=str, target=str)
    return PreparedPairs(
        Tokenizer.load(run.tokenizer),
        Store.open(run.data / "train"),
        Store.open(run.data / "valid"),
        [(row["source"], row["target"]) for row in rows],
        _parts_of(run),
    )


def _parts_of(run: RunFolder) -> tuple[Portion, ...]:
    path = run.data / PARTS
    if not path.is_file():  # of an earlier version of regard: one corpus
        return ()
    return tuple(build(Portion, row, str(path)) for row in read_texts(path))


def kept_entries(run: RunFolder, name: str) -> list[Entry]:
    """The phrasebook's `test` or `notes` pairs of a run (kept with it: the grammar may change)."""
    path = run.whole(f"{name}.jsonl")
    return [build(Entry, row, str(path)) for row in read_texts(path)]


def _phrases(language: str, split: str) -> Iterator[tuple[str, str]]:
    for entry in phrasebook(language):
        if entry.split == split:
            repeated = NOTES_REPEATED if NOTES in entry.slices else 1
            yield from repeat((entry.source, entry.target), repeated)


def limits_of(data: DataSection) -> Limits:
    """What a pair of this recipe may be."""
    if data.documents:
        return Limits(max(data.max_characters, MOST_OF_A_DOCUMENT), documents=True)
    return Limits(max_characters=data.max_characters, max_ratio=data.max_ratio)


def _read(data: DataSection, report: Report) -> Iterator[Pair]:
    assert data.source is not None
    return read_pairs(data.source, data.target, report, limits_of(data), sides_of(data))


def _sentences(pairs: Iterable[tuple[str, str]], advance: Advance) -> Iterator[str]:
    for source, target in pairs:
        yield source
        yield target
        advance(1)


def _one_after_another(
    corpus: Corpus,
    valid: list[tuple[str, str]],
    encoded: Callable[[Iterable[tuple[str, str]]], Iterator[StoreRow]],
    portions: list[Portion],
) -> Iterator[StoreRow]:
    """The ids of all corpora in a row; `portions` is told where each one ends."""
    unseen = Unseen(valid)
    name: str = corpus.data.phrasebook or "data"
    corpora = [(name, corpus.data.weight, corpus.train())]
    for each in corpus.further:
        corpora.append((each.name, each.more.weight, unseen.of(each.pairs(), each.more.tag)))
    for name, weight, texts in corpora:
        pairs = 0
        for ids in encoded(texts):
            yield ids
            pairs += 1
        portions.append(Portion(name, pairs, weight))


def _encoded(
    tokenizer: Tokenizer,
    pairs: Iterator[tuple[str, str]],
    most: int,
    cut: bool,
    advance: Advance,
) -> Iterator[StoreRow]:
    """Ids of both sides; pairs with more than `most` tokens on a side are left out, or with `cut`
    their sources are read so far."""
    while chunk := list(islice(pairs, CHUNK)):
        sources = tokenizer.encode_batch([source for source, _ in chunk])
        targets = tokenizer.encode_batch([target for _, target in chunk])
        for source, target in zip(sources, targets, strict=True):
            source = source[:most] if cut else source
            if max(len(source), len(target)) <= most:
                yield {"source": source, "target": target}
        advance(len(chunk))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A file of JSON, one row a line."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    atomic.write_text(path, "".join(f"{line}\n" for line in lines))
