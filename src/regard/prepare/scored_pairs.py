"""Scored pairs of texts → run folder: the tokenizer, ids of both texts, scores from 0 to 1."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard import atomic
from regard.bundle.encoder_file import EncoderFile, read_encoder_file
from regard.checkpoint.files import read_json
from regard.config import build, to_tables
from regard.data.arrays import mapped
from regard.data.corpus import Report
from regard.data.labelled import Labelled
from regard.data.store import PairStore, write_store
from regard.data.suspicion import Different
from regard.draw.counted import counted
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError, DataError
from regard.model.spec import Spec
from regard.prepare.encoder_spec import encoder_spec, open_start
from regard.prepare.pairs import FEWEST
from regard.prepare.texts import (
    Texts,
    read_rows,
    rows_needed,
    tokenizer_for,
    whole,
    write_valid,
)
from regard.runs.columns import with_columns
from regard.runs.folder import Run, write_json
from regard.runs.recipe import Recipe
from regard.runs.sections import DataSection, SimilarSection
from regard.text.published import PublishedTokenizer, load_tokenizer

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class SimilarData:
    """What training needs of the data; `scores` are as many as pairs."""

    spec: Spec
    file: EncoderFile
    tokenizer: PublishedTokenizer
    train: PairStore
    valid: PairStore
    train_scores: Scores
    valid_scores: Scores

    @property
    def pad(self) -> int:
        """The id that fills up rows."""
        return self.tokenizer.roles.get("pad", 0)


def survey_pairs(data: DataSection, similar: SimilarSection, seed: int) -> Texts:
    """Count and check; a score must be a number between low and high."""
    assert data.texts is not None
    report, labelled, pairs = Report(), similar.loss == "score", Different()
    with progress_bar("reading", None) as bar:
        for path in filter(None, (data.texts, data.valid_texts)):
            own = path == data.texts
            for row in read_rows(path, data, report if own else Report(), labelled, own, True):
                score_of(row, similar, path)
                if own:
                    pairs.see(whole(row))
                bar.advance()
    if data.valid_texts is None:
        pairs.check(str(data.texts), report.kept, "pair", "data.valid_texts")
    if data.valid_texts is None and report.kept < FEWEST:
        raise DataError(
            f"{data.texts}: {counted(report.kept, 'pair')}: too few to hold some out for "
            f"validation, {FEWEST} are the least; add more, or give some to validate on "
            "(data.valid_texts)"
        )
    found = with_columns(data, report)
    return Texts(found, seed, report, Counter(), labelled, scores=labelled)


def score_of(row: Labelled, similar: SimilarSection, path: Path) -> float:
    """The score of a row, from 0 to 1; 1 where pairs have none."""
    if similar.loss == "negatives":
        return 1.0
    try:
        score = (float(row.labels[0]) - similar.low) / (similar.high - similar.low)
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 1:
        raise DataError(
            f"{path}: row {row.line}: score {row.labels[0]!r}, expected a number from "
            f"{similar.low:g} to {similar.high:g} (similar.low, similar.high)"
        )
    return score


def prepare_pairs(run: Run, recipe: Recipe, texts: Texts) -> SimilarData:
    """Fill the run's data folder and load it."""
    start = None if recipe.train.start_from is None else open_start(recipe.train.start_from)
    tokenizer = tokenizer_for(run, recipe, texts, start)
    spec = encoder_spec(recipe, rows_needed(tokenizer, start), 0, start)
    limits = (recipe.data.max_tokens, spec.position_limit, tokenizer.max_length)
    limit = min(most for most in limits if most is not None)
    EncoderFile(start.family if start else "regard", limit).write(run.folder)
    write_json(run.spec, to_tables(spec))
    valid = list(texts.valid())
    for name, rows in {"train": texts.train(), "valid": iter(valid)}.items():
        scores: list[float] = []

        def encoded(
            rows: Iterable[Labelled] = rows, scores: list[float] = scores
        ) -> Iterator[tuple[list[int], list[int]]]:
            for row in rows:
                assert row.pair is not None
                scores.append(score_of(row, recipe.similar, run.folder))
                ids = [tokenizer.encode(text, limit=limit).ids for text in (row.text, row.pair)]
                yield list(ids[0]), list(ids[1])

        with progress_bar("encoding", None):
            store = write_store(run.data / name, encoded(), spec.vocabulary)
        if not len(store):
            raise DataError(f"texts: no {name} row is left; give some to validate on (valid_texts)")
        content = io.BytesIO()
        np.save(content, np.array(scores, dtype=np.float32))
        atomic.write_bytes(run.data / f"{name}-scores.npy", content.getvalue())
    write_valid(run, valid)
    return load_pairs(run)


def load_pairs(run: Run) -> SimilarData:
    """What `prepare_pairs` left in the run folder."""
    run.check_data()
    tokenizer = load_tokenizer(run.folder)
    if tokenizer is None:
        raise CheckpointError(f"{run.folder}: the files of its tokenizer are gone; copy it again")
    stores = [PairStore.open(run.data / name) for name in ("train", "valid")]
    scores = [_scores(run.data / f"{name}-scores.npy") for name in ("train", "valid")]
    if [len(store) for store in stores] != [len(found) for found in scores]:
        raise CheckpointError(f"{run.data}: pairs and scores differ in number; copy the run again")
    spec = build(Spec, read_json(run.spec), str(run.spec))
    file = read_encoder_file(run.folder)
    return SimilarData(spec, file, tokenizer, stores[0], stores[1], scores[0], scores[1])


def _scores(path: Path) -> Scores:
    scores: Scores = np.array(mapped(path))
    return scores
