"""Own files without a recipe, for a model that writes: its size follows from how much there is.

Text to go on with, a decoder:

    characters         preset        tokens            window   dropout
    under 3 million    llama-tiny    characters           128       0.2
    under 30 million   llama-small   4,000 pieces         128       0.1
    more               llama-small   8,000 pieces         256       0.0

Little text has too few words to learn pieces of them, and a large model would learn it by heart.

Conversations with `objective=chat`, a decoder too:

    characters         preset        tokens            window   dropout
    under 10 million   llama-tiny    500 pieces           256       0.0
    more               llama-small   4,000 pieces         256       0.1

Small pieces spell a name that was never seen, which an answer may have to repeat.

Pairs with `objective=text-to-text`, a model like T5:

    pairs             model      pieces    a step (tokens)
    under 100,000     t5-tiny     4,000        2,048
    more              t5-small    8,000        4,096

The rate falls in a cosine until the steps or the minutes are over, and the weights that foresee
what is held out best are kept. With train.start_from the model and its tokenizer are given, and
only little of it may be forgotten: a small rate, few epochs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import override
from regard.prepare.documents import Documents, survey_documents
from regard.prepare.tasks import Tasks, survey_tasks
from regard.prepare.turns import Dialogues, survey_dialogues
from regard.runs.columns import with_columns
from regard.runs.sections import Recipe

EPOCHS = 10
FEWEST_STEPS, VALIDATIONS = 100, 10
CHARACTERS = 4.0  # of a piece, about
FURTHER_TEXT_RATE = 5e-5  # where a model is given; of text one epoch
MANY = 100_000  # pairs
PAIR_TOKENS = 40.0  # of a pair, about
PAIRS_RATE, FURTHER_PAIRS_RATE = 3e-3, 3e-4
FURTHER_PAIRS_EPOCHS = 3

MakeRecipe = Callable[[dict[str, Any]], Recipe]  # adds the assignments to tables


@dataclass(frozen=True)
class DecoderSize:
    """One row of the first table above."""

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


TALKS = (
    DecoderSize(1e7, "llama-tiny", "bytes", 500, 256, 0.0, 2048, 3e-3),
    DecoderSize(float("inf"), "llama-small", "bytes", 4_000, 256, 0.1, 4096, 2e-3),
)


def decoder_for(
    path: Path, minutes: float | None, assignments: Sequence[str], make: MakeRecipe
) -> tuple[Recipe, Documents]:
    """Count the text first, then choose by how much it is."""
    data = {"texts": str(path.resolve()), "max_characters": 10**8}
    further = _goes_further(assignments)
    first = {} if further else {"model": {"preset": SIZES[0].preset}}
    uncounted = make({"objective": "complete", "data": {**data, "max_tokens": 8}, **first})
    documents = survey_documents(uncounted.data)
    tables = _decoder_tables(SIZES, documents.characters, minutes, further)
    tables["data"] |= data
    recipe = make({"objective": "complete", **tables})
    return recipe, replace(documents, data=recipe.data)


def talker_for(
    path: Path, minutes: float | None, assignments: Sequence[str], make: MakeRecipe
) -> tuple[Recipe, Dialogues]:
    """The same for conversations: turns as JSONL, or a table of questions and answers."""
    data = {"texts": str(path.resolve())}
    further = _goes_further(assignments)
    first = {} if further else {"model": {"preset": TALKS[0].preset}}
    uncounted = make({"objective": "chat", "data": data, **first})
    dialogues = survey_dialogues(uncounted.data, uncounted.train.seed)
    tables = _decoder_tables(TALKS, dialogues.characters, minutes, further)
    tables["data"] |= data
    recipe = make({"objective": "chat", **tables})
    columns = with_columns(recipe.data, dialogues.report)
    return recipe, replace(dialogues, data=columns, seed=recipe.train.seed)


def _decoder_tables(
    sizes: Sequence[DecoderSize], characters: int, minutes: float | None, further: bool
) -> dict[str, Any]:
    size = next(size for size in sizes if characters < size.below)
    tokens = characters / (1 if size.kind == "characters" and not further else CHARACTERS)
    rate = FURTHER_TEXT_RATE if further else size.rate
    epochs = 1 if further else EPOCHS
    train = _train(epochs * tokens, size.token_budget, rate, 0.0, minutes)
    if further:
        return {"data": {"max_tokens": size.window}, "train": train}
    return {
        "data": {"max_tokens": size.window},
        "tokenizer": {"kind": size.kind, "size": size.pieces},
        "model": {"preset": size.preset, "dropout": size.dropout},
        "train": train,
    }


def text_to_text_for(
    files: tuple[Path, Path | None],
    minutes: float | None,
    assignments: Sequence[str],
    make: MakeRecipe,
) -> tuple[Recipe, Tasks]:
    """Count the pairs first, then choose by their number."""
    named = zip(("source", "target"), files, strict=True)
    data = {name: str(file.resolve()) for name, file in named if file is not None}
    first: dict[str, Any] = {"objective": "text-to-text", "data": data}
    further = _goes_further(assignments)
    tasks = survey_tasks(make(first if further else {**first, "model": {"preset": "t5-tiny"}}))
    return make(first | _pairs_tables(tasks.tasks[0].count, minutes, further)), tasks


def _pairs_tables(pairs: int, minutes: float | None, further: bool) -> dict[str, Any]:
    preset, pieces, budget = ("t5-small", 8000, 4096) if pairs >= MANY else ("t5-tiny", 4000, 2048)
    if further:
        tokens = FURTHER_PAIRS_EPOCHS * pairs * PAIR_TOKENS
        return {"train": _train(tokens, budget, FURTHER_PAIRS_RATE, 0.0, minutes)}
    return {
        "tokenizer": {"kind": "bytes", "size": pieces},
        "model": {"preset": preset, "dropout": 0.1},
        "train": _train(EPOCHS * pairs * PAIR_TOKENS, budget, PAIRS_RATE, 0.1, minutes),
    }


def _goes_further(assignments: Sequence[str]) -> bool:
    """Whether training begins with a model that is given."""
    train = override({}, assignments).get("train")
    return isinstance(train, dict) and bool(train.get("start_from"))


def _train(
    tokens: float, budget: int, rate: float, smoothing: float, minutes: float | None
) -> dict[str, Any]:
    """The section [train]: so many tokens in all, or so many minutes."""
    steps = max(FEWEST_STEPS, round(tokens / budget))
    by_steps = {
        "steps": steps,
        "warmup": max(1, steps // 20),
        "validate_every": -(-steps // VALIDATIONS),
    }
    return {
        "token_budget": budget,
        "schedule": "cosine",
        "rate": rate,
        "label_smoothing": smoothing,
        "average": 3,
        **(by_steps if minutes is None else {"minutes": minutes}),
    }
