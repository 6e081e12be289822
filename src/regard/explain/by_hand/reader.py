"""A TOML sheet in, a checked `Sheet` out: a hand calculation, and what a person wrote for it.

E, W_Q, W_K, W_V, positions or P     words to queries, keys and values; a missing W is identity
Q, K, V                              or these directly
scores                               or Q·Kᵀ directly; V is then optional
weights                              or the weights directly; a mask drops and renormalises
words, key_words                     a name for each row, and for each column of the scores
mask, scale, d_k, add, norm          the options of one head
symmetric                            the claim that given weights come from e·eᵀ, to be tested
[yours]                              a person's own results, whole matrices or rows by word
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.config import read_toml
from regard.errors import ConfigError, nearest
from regard.explain.by_hand import checks
from regard.explain.by_hand.numbers import (
    Written,
    check_weights,
    decimals_of,
    half_a_unit,
    read_matrix,
    written,
)
from regard.model.masks import look_ahead

MATRICES = ("E", "P", "Q", "K", "V", "scores", "weights")
OPTIONS = ("W_Q", "W_K", "W_V", "positions", "d_k", "scale", "mask", "add", "norm", "symmetric")
KEYS = ("title", "words", "key_words", *MATRICES, *OPTIONS, "yours")
BEFORE, AFTER = ("E", "P", "X", "Q", "K", "V"), ("weights", "output", "add", "norm")
WRITTEN = (*BEFORE, "scores", "scaled", "masked", *AFTER)  # what [yours] may hold
BY_KEY = ("scores", "scaled", "masked", "weights")  # steps with a column for each key


@dataclass(frozen=True)
class Scale:
    """What the scores are divided by, and how that comes about: "√d_k = √4 = 2"; "" is nothing."""

    divisor: float = 1.0
    text: str = ""
    d_k: int | None = None  # the size of a key, where it is known


@dataclass(frozen=True)
class Sheet:
    """One head's calculation; `matrices` are the sheet's, float64, by their keys."""

    title: str
    words: tuple[str, ...]  # a name for each query
    key_words: tuple[str, ...]  # a name for each key
    matrices: Mapping[str, Tensor]
    scale: Scale
    allowed: Bool[Tensor, "L S"] | None  # True = may attend
    flags: frozenset[str]  # of positions, add, norm, symmetric
    yours: Mapping[str, Written]
    half: float  # given weights stand for everything that rounds to them

    def row_words(self, step: str) -> tuple[str, ...]:
        """A name for each row of a step: keys and values have a row for each key."""
        return _row_words(step, self.matrices, self.words, self.key_words)


def read_sheet(path: Path) -> Sheet:
    """The sheet of a TOML file, every shape checked."""
    tables = read_toml(path, _decimal)
    try:
        return _sheet(tables, path.stem)
    except ConfigError as error:
        raise error.within(path.name) from None


def _decimal(text: str) -> Decimal:
    """A number as it was written; an exponent that no number has is infinite."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("inf")


def _sheet(tables: Mapping[str, Any], name: str) -> Sheet:
    for key in tables:
        if key not in KEYS:
            raise ConfigError(f"unknown key {key!r}{nearest(key, KEYS)}")
    matrices = _matrices(tables)
    rows = next(key for key in ("scores", "weights", "Q", "E") if key in matrices)
    columns = next(key for key in ("scores", "weights", "K", "E") if key in matrices)
    queries = matrices[rows].shape[0]
    keys = matrices[columns].shape[0 if columns in ("K", "E") else 1]
    words = _names("words", tables, queries, f"rows of {rows}")
    key_words = words
    if "key_words" in tables or queries != keys:
        unit = "rows" if columns in ("K", "E") else "columns"
        key_words = _names("key_words", tables, keys, f"{unit} of {columns}")
    flags = frozenset(f for f in ("positions", "add", "norm", "symmetric") if _flag(f, tables))
    checks.check_flags(flags, matrices, queries)
    allowed = _mask(tables, queries, keys)
    if allowed is not None and "weights" in matrices:
        checks.check_remaining(matrices["weights"], allowed)
    title = tables.get("title", name)
    if not isinstance(title, str):
        raise ConfigError("title", got=title, expected="a text")
    return Sheet(
        title,
        words,
        key_words,
        matrices,
        _scale(tables, matrices),
        allowed,
        flags,
        _yours(tables.get("yours", {}), lambda step: _row_words(step, matrices, words, key_words)),
        half_a_unit(decimals_of(tables.get("weights"))),
    )


def _matrices(tables: Mapping[str, Any]) -> dict[str, Tensor]:
    """Every matrix of the sheet, and W_Q, W_K, W_V where they are needed."""
    matrices = {key: read_matrix(key, tables[key]) for key in MATRICES if key in tables}
    checks.check_start(tables, matrices)
    if "E" in matrices:
        for key, projection in checks.PROJECTIONS.items():
            if key not in matrices:
                matrices[projection] = _projection(projection, tables, matrices["E"])
    checks.check_shapes(matrices)
    if "weights" in matrices:
        check_weights(matrices["weights"], decimals_of(tables["weights"]))
    return matrices


def _projection(name: str, tables: Mapping[str, Any], embedding: Tensor) -> Tensor:
    """W_Q, W_K or W_V: a matrix, or "identity"."""
    value = tables.get(name, "identity")
    if value == "identity":
        return torch.eye(embedding.shape[1], dtype=torch.float64)
    if isinstance(value, str):
        raise ConfigError(name, got=value, expected='"identity" or a matrix')
    matrix = read_matrix(name, value)
    checks.check_product(name, matrix, embedding)
    return matrix


def _names(key: str, tables: Mapping[str, Any], count: int, what: str) -> tuple[str, ...]:
    """A label for each row or column; counted where the sheet gives none."""
    value = tables.get(key)
    if value is None:
        return tuple(f"{'row' if key == 'words' else 'key'} {i + 1}" for i in range(count))
    if not isinstance(value, list) or not all(isinstance(w, str) and w.strip() for w in value):
        raise ConfigError(key, expected='a list of words, for example ["The", "cat"]')
    if len(value) != count:
        expected = "one word for each"
        raise ConfigError(key, f"got {len(value)} words for {count} {what}", expected=expected)
    return tuple(value)


def _flag(key: str, tables: Mapping[str, Any]) -> bool:
    value = tables.get(key, False)
    if not isinstance(value, bool):
        other = "; a matrix of positions is given as P" if key == "positions" else ""
        raise ConfigError(key, got=value, expected=f"true or false{other}")
    return value


def _scale(tables: Mapping[str, Any], matrices: Mapping[str, Tensor]) -> Scale:
    """√d_k unless the sheet says otherwise."""
    size, scale = tables.get("d_k"), tables.get("scale", "sqrt(d_k)")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise ConfigError("d_k", got=size, expected="a whole number from 1")
    if "Q" in matrices or "W_Q" in matrices:
        columns = (matrices["Q"] if "Q" in matrices else matrices["W_Q"]).shape[1]
        if size not in (None, columns):
            raise ConfigError(f"d_k is {size} and Q has {columns} columns; d_k is that number")
        size = columns
    if "weights" in matrices or scale == "none":
        return Scale(d_k=size)
    if scale == "sqrt(d_k)":
        if size is None:
            raise ConfigError(
                'scores are given without Q and K, so d_k is not known; give d_k, or scale = "none"'
            )
        return Scale(math.sqrt(size), f"√d_k = √{size} = {math.sqrt(size):.5g}", size)
    root = isinstance(scale, str) and scale.startswith("sqrt(") and scale.endswith(")")
    number = _positive(scale[5:-1] if root else scale)
    if number is None:
        expected = '"sqrt(d_k)", "sqrt(6)", a number above 0, or "none"'
        raise ConfigError("scale", got=scale, expected=expected)
    if root:
        return Scale(math.sqrt(number), f"√{number:g} = {math.sqrt(number):.5g}", size)
    return Scale(number, f"{number:g}", size)


def _positive(value: Any) -> float | None:
    """A number between 1e-9 and 1e9, or None."""
    if not isinstance(value, int | Decimal | str) or isinstance(value, bool):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return float(number) if number.is_finite() and Decimal("1e-9") <= number <= 10**9 else None


def _mask(tables: Mapping[str, Any], queries: int, keys: int) -> Bool[Tensor, "L S"] | None:
    """True where a word may look."""
    value = tables.get("mask", "none")
    if value == "none":
        return None
    if value == "look-ahead":
        if queries != keys:
            advice = "look-ahead needs a square, as many keys as queries"
            raise ConfigError("mask", f"the scores are {queries} × {keys}", advice=advice)
        return look_ahead(queries, keys, torch.device("cpu"))
    if isinstance(value, str):
        raise ConfigError("mask", got=value, expected='"none", "look-ahead" or a matrix of 0 and 1')
    matrix = read_matrix("mask", value)
    checks.check_mask(matrix, queries, keys)
    return matrix == 1


def _row_words(
    step: str, matrices: Mapping[str, Tensor], words: tuple[str, ...], key_words: tuple[str, ...]
) -> tuple[str, ...]:
    if step in ("K", "V"):
        return key_words
    # Where Q is given, E is there for the keys or the values.
    for_keys = "W_Q" not in matrices and ("W_K" in matrices or "W_V" in matrices)
    return key_words if step in ("E", "P", "X") and for_keys else words


def _yours(tables: Any, row_words: Callable[[str], tuple[str, ...]]) -> dict[str, Written]:
    """[yours], in the order of the steps."""
    if not isinstance(tables, Mapping):
        raise ConfigError("yours", got=tables, expected="a section [yours]")
    for key in tables:
        if key not in WRITTEN:
            raise ConfigError("yours", f"unknown key {key!r}", advice=nearest(key, WRITTEN))
    return {
        key: written(f"yours.{key}", tables[key], row_words(key))
        for key in WRITTEN
        if key in tables
    }
