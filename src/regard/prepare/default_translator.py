"""Own files without a recipe: model, vocabulary and batch chosen from the number of pairs.

    pairs             model   pieces    a step (tokens)
    under 1,000       tiny       400        1,024
    under 10,000      tiny     2,000        1,024
    under 100,000     tiny     4,000        1,024
    under 1,000,000   small    8,000        4,096
    more              base    32,000       16,384

The sizes follow from what an ordinary machine learns in the time given: a model that sees each pair
only once or twice is worse than a smaller one that sees it ten times. For the same reason the norm
comes first and batches are small (docs/decisions/0003-the-demo.md has the measurements).

The rate rises for a tenth of the run and comes down to 0 at its end, be that after minutes or after
steps: a minute's training ends as finished as an hour's (runs/rates.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_MINUTES = 30.0


@dataclass(frozen=True)
class Size:
    """One row of the table above."""

    below: float
    preset: str
    pieces: int
    token_budget: int
    warmup: int  # of the paper's schedule
    rate: float
    dropout: float


SIZES = (
    Size(1_000, "tiny", 400, 1024, 300, 3e-3, 0.2),
    Size(10_000, "tiny", 2_000, 1024, 400, 3e-3, 0.2),
    Size(100_000, "tiny", 4_000, 1024, 400, 3e-3, 0.1),
    Size(1_000_000, "small", 8_000, 4096, 2000, 1e-3, 0.1),
    Size(float("inf"), "base", 32_000, 16_384, 4000, 5e-4, 0.1),
)


def choose_size(pairs: int) -> Size:
    """The row for that many pairs."""
    return next(size for size in SIZES if pairs < size.below)


def chosen_tables(
    source: Path,
    target: Path | None,
    pairs: int,
    minutes: float | None,
    assignments: Sequence[str] = (),
) -> dict[str, Any]:
    """A recipe for these files, as tables; the assignments are still to be applied on top of it."""
    size = choose_size(pairs)
    data: dict[str, Any] = {"source": str(source.resolve())}
    if target is not None:
        data["target"] = str(target.resolve())
    return {
        "data": data,
        "tokenizer": {"kind": "bytes", "size": size.pieces},
        "model": {"preset": size.preset, "norm_order": "pre", "dropout": size.dropout},
        "train": {
            "token_budget": size.token_budget,
            **_rate(size, assignments),
            **_length(minutes, assignments),
        },
    }


def _rate(size: Size, assignments: Sequence[str]) -> dict[str, Any]:
    """A cosine; but whoever sets the paper's factor asks for the paper's schedule."""
    if _sets(assignments, "train.factor") and not _sets(assignments, "train.schedule"):
        return {"schedule": "noam", "warmup": size.warmup}
    return {"schedule": "cosine", "rate": size.rate}


def _length(minutes: float | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Half an hour, unless minutes or steps are given; a run by steps has no clock in it."""
    if minutes is None and _sets(assignments, "train.steps"):
        return {"validate_every": 500}
    return {"minutes": DEFAULT_MINUTES if minutes is None else minutes}


def _sets(assignments: Sequence[str], key: str) -> bool:
    return any(assignment.partition("=")[0].strip() == key for assignment in assignments)
