"""Do a sheet's matrices fit together? Each refusal names the matrices and both shapes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.errors import ConfigError
from regard.explain.by_hand.numbers import shape

PROJECTIONS = {"Q": "W_Q", "K": "W_K", "V": "W_V"}


def check_start(tables: Mapping[str, Any], matrices: Mapping[str, Tensor]) -> None:
    """There is one start, and nothing beside it that would be ignored."""
    if not matrices:
        raise ConfigError(
            "nothing to calculate; give E (one row for each word), or Q, K and V, or scores, "
            "or weights"
        )
    for start in ("weights", "scores"):
        if start in matrices:
            without = ["E", "P", "positions", "Q", "K", "W_Q", "W_K", "W_V"]
            without += ["scores", "d_k", "scale"] if start == "weights" else []
            _refuse(f"{start} are given", [key for key in without if key in tables])
            return
    missing = [key for key in ("Q", "K") if key not in matrices]
    if missing and "E" not in matrices:
        raise ConfigError(
            f"{' and '.join(missing)} missing; give both Q and K, or E to make them from"
        )
    for key, projection in PROJECTIONS.items():
        _refuse(f"{key} is given", [projection] if key in matrices and projection in tables else [])
    if "E" not in matrices:
        unused = [key for key in ("P", "positions", "W_V") if key in tables]
        _refuse("E is not given", unused)
    elif all(key in matrices for key in PROJECTIONS) and not tables.get("add"):
        _refuse("Q, K and V are given", ["E"])


def _refuse(reason: str, unused: list[str]) -> None:
    if unused:
        raise ConfigError(f"{reason}, so {', '.join(unused)} would not be used; remove one")


def check_product(name: str, matrix: Tensor, embedding: Tensor) -> None:
    """E·W needs a row in W for each column of E."""
    columns = embedding.shape[1]
    if matrix.shape[0] != columns:
        raise ConfigError(
            f"{name} is {shape(matrix)} and E is {shape(embedding)}; E·{name} needs {columns} rows "
            f"in {name}, one for each column of E"
        )


def check_shapes(matrices: Mapping[str, Tensor]) -> None:
    """E + P, Q·Kᵀ and weights·V fit together."""
    if "P" in matrices and matrices["P"].shape != matrices["E"].shape:
        raise ConfigError(
            f"P is {shape(matrices['P'])} and E is {shape(matrices['E'])}; E + P needs equal shapes"
        )
    sizes: dict[str, tuple[torch.Size, str]] = {k: (m.shape, shape(m)) for k, m in matrices.items()}
    for key, projection in PROJECTIONS.items():
        if key not in matrices and "E" in matrices:
            product = matrices["E"] @ matrices[projection]
            sizes[key] = (product.shape, f"{shape(product)} (E·{projection})")
    if "Q" in sizes and sizes["Q"][0][1] != sizes["K"][0][1]:
        raise ConfigError(
            f"Q is {sizes['Q'][1]} and K is {sizes['K'][1]}; the dot product of a query and a key "
            "needs equally many columns in both"
        )
    for key, axis in {"K": 0, "scores": 1, "weights": 1}.items():
        if key in sizes and "V" in sizes and sizes[key][0][axis] != sizes["V"][0][0]:
            raise ConfigError(
                f"{key} is {sizes[key][1]} and V is {sizes['V'][1]}; V needs one row for each "
                f"{('row', 'column')[axis]} of {key}"
            )


def check_flags(flags: frozenset[str], matrices: Mapping[str, Tensor], queries: int) -> None:
    """What positions, add, norm and symmetric need."""
    if "positions" in flags:
        check_positions(matrices)
    if "add" in flags:
        check_add(matrices, queries)
    if "norm" in flags and not {"E", "V"} & set(matrices):
        raise ConfigError("norm", "there is no output to normalise without V", advice="give V")
    if "symmetric" in flags:
        check_symmetric(matrices)


def check_positions(matrices: Mapping[str, Tensor]) -> None:
    """Sines and cosines come in pairs, and only one set of positions is added."""
    if "P" in matrices:
        raise ConfigError("positions = true and P are both given; remove one")
    if matrices["E"].shape[1] % 2:
        advice = "sines and cosines come in pairs, so E needs an even number of columns"
        raise ConfigError("positions", f"E is {shape(matrices['E'])}", advice=advice)


def check_add(matrices: Mapping[str, Tensor], queries: int) -> None:
    """x + output needs both, and equal."""
    if "E" not in matrices:
        raise ConfigError("add", "x + output needs x", advice="give E")
    embedding, values = matrices["E"], matrices["V"] if "V" in matrices else matrices["W_V"]
    if (queries, values.shape[1]) != embedding.shape:
        problem = f"the output is {queries} × {values.shape[1]} and E is {shape(embedding)}"
        raise ConfigError("add", problem, advice="x + output needs equal shapes")


def check_mask(matrix: Tensor, queries: int, keys: int) -> None:
    """One 0 or 1 for each score, and a 1 in each row."""
    if matrix.shape != (queries, keys):
        square = ", a square" if queries == keys else ""
        raise ConfigError(
            f"mask is {shape(matrix)} and the scores are {queries} × {keys}{square}; expected one "
            "0 or 1 for each score"
        )
    if not bool(((matrix == 0) | (matrix == 1)).all()):
        raise ConfigError("mask", expected="only 1 (may look) and 0 (may not)")
    for row, seen in enumerate(matrix.sum(dim=1).tolist(), start=1):
        if not seen:
            advice = "a word that may look nowhere has no weights, so give it at least one 1"
            raise ConfigError("mask", f"row {row} is all 0", advice=advice)


def check_remaining(weights: Tensor, allowed: Tensor) -> None:
    """Masked weights are divided by what remains, which must not be 0."""
    for row, remains in enumerate((weights * allowed).sum(dim=1).tolist(), start=1):
        if not remains:
            raise ConfigError(
                f"mask: it hides every weight of row {row} that is not 0, so nothing remains to "
                "divide by"
            )


def check_symmetric(matrices: Mapping[str, Tensor]) -> None:
    """The claim is about a square of given weights."""
    if "weights" not in matrices:
        raise ConfigError("symmetric", "this is a claim about given weights", advice="give weights")
    if matrices["weights"].shape[0] != matrices["weights"].shape[1]:
        raise ConfigError(f"symmetric: weights is {shape(matrices['weights'])}; expected a square")
