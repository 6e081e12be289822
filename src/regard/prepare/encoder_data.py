"""Texts → run folder: the tokenizer, the spec, ids and what is asked, the held-out texts.

Reads the file in passes (count and check, learn the vocabulary, encode) and never holds it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.bundle.encoder_file import EncoderFile, read_encoder_file
from regard.config import to_tables
from regard.data.labelled import Labelled
from regard.data.store import ColumnKind, Store, StoreRow, write_store
from regard.draw.terminal.progress import progress_bar
from regard.errors import CheckpointError, DataError
from regard.model.spec import Spec
from regard.prepare.pairs import write_rows
from regard.prepare.start import (
    encoder_spec,
    kept_spec,
    kept_tokenizer,
    open_start,
    rows_needed,
    tokenizer_for,
)
from regard.prepare.texts import Texts
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.runs.sections import Recipe
from regard.text.encoder_tokenizer import save_for_encoder
from regard.text.published import PublishedTokenizer

# Of at most so many tokens; a list where a text is read by windows.
Encode = Callable[[PublishedTokenizer, Labelled, int], StoreRow | list[StoreRow]]


@dataclass(frozen=True)
class EncoderData:
    """What training needs of the data; `text` of a store is ids with special tokens, of which
    `first` are of the first text."""

    spec: Spec
    file: EncoderFile
    tokenizer: PublishedTokenizer
    train: Store
    valid: Store

    @property
    def pad(self) -> int:
        """The id that fills up rows."""
        return self.tokenizer.roles.get("pad", 0)


def text_row(tokenizer: PublishedTokenizer, row: Labelled, limit: int) -> dict[str, Any]:
    """The columns that every text has; two texts are one row of ids."""
    whole = tokenizer.encode(row.text, row.pair, limit)
    first = len(whole.segments) - sum(map(bool, whole.segments))
    return {"text": list(whole.ids), "first": first}


def prepare_texts(
    run: RunFolder,
    recipe: Recipe,
    texts: Texts,
    columns: Mapping[str, ColumnKind | None],
    encode: Encode = text_row,
    labels: tuple[str, ...] = (),
    kind: str = "",
    classes: int | None = None,
    **changes: int,
) -> None:
    """Fill the run's data folder.

    `columns` are those beside `text` and `first` (None: ids of the vocabulary too), `encode` gives
    a row of all; `kind` is that of bundle/encoder_file.py. A head has as many classes as there are
    labels, unless `classes` says otherwise; `changes` are other fields of the spec.
    """
    start = None if recipe.train.start_from is None else open_start(recipe.train.start_from)
    sides = (side for row in texts.train() for side in (row.text, row.pair) if side is not None)
    count, save = texts.characters, save_for_encoder
    tokenizer = tokenizer_for(run, recipe.tokenizer, start, sides, count, save)
    vocabulary = rows_needed(tokenizer, start)
    classes = len(labels) if classes is None else classes
    spec = encoder_spec(recipe, vocabulary, classes, start, **changes)
    limits = (recipe.data.max_tokens, spec.position_limit, tokenizer.max_length)
    limit = min(most for most in limits if most is not None)
    EncoderFile(start.family.name if start else "regard", limit, labels, kind).write(run.folder)
    write_own_json(run.spec, to_tables(spec))
    valid = list(texts.valid())
    ids = ColumnKind(spec.vocabulary)
    kinds = {"text": ids, "first": ColumnKind(max(limit + 1, spec.vocabulary), ragged=False)}
    kinds |= {name: own or ids for name, own in columns.items()}
    with progress_bar("encoding", None) as bar:

        def encoded(rows: Iterable[Labelled]) -> Iterator[StoreRow]:
            for row in rows:
                made = encode(tokenizer, row, limit)
                yield from made if isinstance(made, list) else (made,)
                bar.advance(1)

        for name, rows in {"train": texts.train(), "valid": iter(valid)}.items():
            if not len(write_store(run.data / name, kinds, encoded(rows))):
                advice = "give rows to validate on as valid_texts"
                raise DataError("texts", f"no {name} row is left", advice=advice)
    held = ({"text": row.text, "pair": row.pair, "labels": row.labels} for row in valid)
    write_rows(run.data / "valid.jsonl", held)


def load_texts(run: RunFolder) -> EncoderData:
    """What `prepare_texts` left in the run folder."""
    run.check_data()
    return EncoderData(
        kept_spec(run),
        read_encoder_file(run.folder),
        kept_tokenizer(run),
        _open(run.data / "train"),
        _open(run.data / "valid"),
    )


def _open(folder: Path) -> Store:
    """A store; earlier versions had two columns of ids and no names for what they held."""
    store = Store.open(folder)
    if "text" in store.columns:
        return store
    text, other = store["source"], store["target"]
    scores = folder.with_name(f"{folder.name}-scores.npy")
    if not scores.is_file():
        rest = other.tails()
        columns = {"text": text, "labels": rest, "tags": rest}
        return replace(store, columns=columns, numbers={"first": other.heads()})
    try:
        score = np.load(scores, allow_pickle=False)
    except (OSError, ValueError) as error:
        advice = "copy the run again"
        raise CheckpointError(scores, f"cannot be read: {error}", advice=advice) from None
    if len(score) != len(store):
        advice = "copy the run again"
        raise CheckpointError(folder, "pairs and scores differ in number", advice=advice)
    return replace(store, columns={"text": text, "second": other}, numbers={"score": score})


def held_out(run: RunFolder) -> list[Labelled]:
    """The rows that a run validates on."""
    rows: list[dict[str, Any]] = read_texts(
        run.whole("valid.jsonl"), text=str, pair=str | None, labels=list
    )
    return [
        Labelled(row["text"], row["pair"], tuple(row["labels"]), line)
        for line, row in enumerate(rows, start=1)
    ]
