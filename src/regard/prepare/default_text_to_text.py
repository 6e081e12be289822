"""Own pairs without a recipe, `objective=text-to-text`: a model like T5 chosen from their number.

    pairs             model      pieces    a step (tokens)
    under 100,000     t5-tiny     4,000        2,048
    more              t5-small    8,000        4,096

With train.start_from the model and its tokenizer are given, and only little of it may be forgotten:
a small rate, three epochs.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.config import override
from regard.prepare.tasks import Tasks, survey_tasks
from regard.runs.sections import Recipe

MANY = 100_000  # pairs
TOKENS = 40.0  # of a pair, about
RATE, FURTHER_RATE = 3e-3, 3e-4
EPOCHS, FURTHER_EPOCHS = 10, 3
FEWEST_STEPS, VALIDATIONS = 100, 10
START = {"model": {"preset": "t5-tiny"}}


def text_to_text_for(
    files: tuple[Path, Path | None],
    minutes: float | None,
    assignments: Sequence[str],
    make: Callable[[dict[str, Any]], Recipe],
) -> tuple[Recipe, Tasks]:
    """Count the pairs first, then choose by their number; `make` adds the assignments."""
    named = zip(("source", "target"), files, strict=True)
    data = {name: str(file.resolve()) for name, file in named if file is not None}
    first: dict[str, Any] = {"objective": "text-to-text", "data": data}
    train = override({}, assignments).get("train")
    further = isinstance(train, dict) and bool(train.get("start_from"))
    tasks = survey_tasks(make({**first, **({} if further else START)}))
    pairs = tasks.tasks[0].count
    return make(first | _tables(pairs, minutes, further)), tasks


def _tables(pairs: int, minutes: float | None, further: bool) -> dict[str, Any]:
    budget = 4096 if pairs >= MANY else 2048
    epochs = FURTHER_EPOCHS if further else EPOCHS
    steps = max(FEWEST_STEPS, round(epochs * pairs * TOKENS / budget))
    train: dict[str, Any] = {
        "token_budget": budget,
        "schedule": "cosine",
        "rate": FURTHER_RATE if further else RATE,
        "label_smoothing": 0.0 if further else 0.1,
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
        return {"train": train}
    preset, pieces = ("t5-small", 8000) if pairs >= MANY else ("t5-tiny", 4000)
    return {
        "tokenizer": {"kind": "bytes", "size": pieces},
        "model": {"preset": preset, "dropout": 0.1},
        "train": train,
    }
