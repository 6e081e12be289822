"""Own text without a recipe: a decoder chosen from how much text there is.

    characters         preset        tokens            window   dropout
    under 3 million    llama-tiny    characters           128       0.2
    under 30 million   llama-small   4,000 pieces         128       0.1
    more               llama-small   8,000 pieces         256       0.0

Little text has too few words to learn pieces of them, and a large model would learn it by heart.
The rate falls in a cosine until the steps or the minutes are over, and the weights that foresee the
held-out text best are kept. With train.start_from the model and its tokenizer are given, and only
little of it may be forgotten: a small rate, one epoch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import override
from regard.prepare.documents import Documents, survey_documents
from regard.runs.sections import Recipe

FURTHER_RATE = 5e-5
CHARACTERS = 4.0  # of a piece, about
EPOCHS = 10
VALIDATIONS = 10
FEWEST_STEPS = 100


@dataclass(frozen=True)
class DecoderSize:
    """One row of the table above."""

    below: float
    preset: str
    kind: str
    pieces: int
    window: int
    dropout: float
    token_budget: int
    rate: float


SIZES = (
    DecoderSize(3e6, "llama-tiny", "characters", 2_000, 128, 0.2, 2048, 3e-3),
    DecoderSize(3e7, "llama-small", "bytes", 4_000, 128, 0.1, 4096, 2e-3),
    DecoderSize(float("inf"), "llama-small", "bytes", 8_000, 256, 0.0, 8192, 1e-3),
)


def decoder_for(
    path: Path,
    minutes: float | None,
    assignments: Sequence[str],
    make: Callable[[dict[str, Any]], Recipe],
) -> tuple[Recipe, Documents]:
    """Count the text first, then choose by how much it is; `make` adds the assignments."""
    data = {"texts": str(path.resolve()), "max_characters": 10**8}
    train = override({}, assignments).get("train")
    further = isinstance(train, dict) and bool(train.get("start_from"))
    first = {} if further else {"model": {"preset": SIZES[0].preset}}
    uncounted = make({"objective": "complete", "data": {**data, "max_tokens": 8}, **first})
    documents = survey_documents(uncounted.data)
    tables = _tables(documents.characters, minutes, further)
    tables["data"] |= data
    recipe = make({"objective": "complete", **tables})
    return recipe, replace(documents, data=recipe.data)


def _tables(characters: int, minutes: float | None, further: bool) -> dict[str, Any]:
    size = next(size for size in SIZES if characters < size.below)
    tokens = characters / (1 if size.kind == "characters" and not further else CHARACTERS)
    epochs = 1 if further else EPOCHS
    steps = max(FEWEST_STEPS, round(epochs * tokens / size.token_budget))
    train: dict[str, Any] = {
        "token_budget": size.token_budget,
        "schedule": "cosine",
        "rate": FURTHER_RATE if further else size.rate,
        "label_smoothing": 0.0,
        "average": 3,
    }
    if minutes is None:
        train |= {
            "steps": steps,
            "warmup": max(1, steps // 20),
            "validate_every": -(-steps // VALIDATIONS),
        }
    else:
        train["minutes"] = minutes
    if further:
        return {"data": {"max_tokens": size.window}, "train": train}
    return {
        "data": {"max_tokens": size.window},
        "tokenizer": {"kind": size.kind, "size": size.pieces},
        "model": {"preset": size.preset, "dropout": size.dropout},
        "train": train,
    }
