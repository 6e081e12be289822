"""Own texts, without a recipe: an encoder chosen from how many rows there are.

    rows              layers   width   pieces   dropout   epochs
    under 1,000            1      64    1,000       0.3       40
    under 5,000            2     128    2,000       0.3       15
    under 50,000           2     128    4,000       0.3        8
    under 500,000          3     256    8,000       0.2        4
    more                   6     512   16,000       0.1        2

Few rows teach few words, and a deep model would learn them by heart: it is small, sees each row
often, and dropout is high (the recipe sst2-scratch is the third row). The rate falls in a cosine
over all steps, and the weights that are best on the held-out rows are kept. With
train.start_from the model is given, and only little of it may be forgotten: three epochs at a small
rate, as in the recipe sst2.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.errors import MisuseError
from regard.prepare.texts import Texts
from regard.runs.objectives import OBJECTIVES
from regard.runs.sections import Recipe

LONGEST = 128  # tokens of a text that are read, unless texts are short
CHARACTERS = 3.5  # of a piece, about
VALIDATIONS = 10
FEWEST_STEPS = 100  # a small table is one batch: its epochs alone end before anything is learnt
FEWEST_FURTHER = 20
MANY = 5_000  # rows of which the held-out ones tell one accuracy from another
AROUND = 2  # special tokens of a text


@dataclass(frozen=True)
class TextSize:
    """One row of the table above."""

    below: float
    layers: int
    d_model: int
    pieces: int
    dropout: float
    epochs: int
    token_budget: int = 1024


SIZES = (
    TextSize(1_000, 1, 64, 1_000, 0.3, 40),
    TextSize(5_000, 2, 128, 2_000, 0.3, 15),
    TextSize(50_000, 2, 128, 4_000, 0.3, 8),
    TextSize(500_000, 3, 256, 8_000, 0.2, 4, 4096),
    TextSize(float("inf"), 6, 512, 16_000, 0.1, 2, 8192),
)
FURTHER_EPOCHS, FURTHER_RATE = 3, 5e-5  # of a model that is trained already


def encoder_for(
    path: Path,
    minutes: float | None,
    make: Callable[[dict[str, Any]], Recipe],
    survey: Callable[[Recipe], Texts],
) -> tuple[Recipe, Texts]:
    """Count the rows of a table first, then choose by their number.

    `make` adds the overrides, which may ask for another objective; `survey` is that of whichever.
    """
    data = {"texts": str(path.resolve())}
    uncounted = make({"objective": "classify", "data": data})
    if not OBJECTIVES[uncounted.objective].from_texts:
        named = ", ".join(name for name, row in OBJECTIVES.items() if row.from_texts)
        advice = f'objective "{uncounted.objective}" takes a recipe; `regard recipe` lists some'
        raise MisuseError("train", f"--texts alone is for {named}", advice=advice)
    texts = survey(uncounted)
    tables = chosen_text_tables(texts, minutes, uncounted.train.start_from is not None)
    tables["data"] = {**tables["data"], **data}
    recipe = make({"objective": "classify", **tables})
    columns: dict[str, Any] = {key: vars(texts.data)[key] for key in ("text", "pair", "label")}
    return recipe, replace(texts, data=replace(recipe.data, **columns))


def chosen_text_tables(texts: Texts, minutes: float | None, further: bool) -> dict[str, Any]:
    """A recipe for these rows, as tables; `further`: some model is started from."""
    rows = max(1, texts.report.kept)
    size = next(size for size in SIZES if rows < size.below)
    tokens = min(LONGEST, texts.characters / rows / CHARACTERS + AROUND)
    epochs, fewest = (FURTHER_EPOCHS, FEWEST_FURTHER) if further else (size.epochs, FEWEST_STEPS)
    steps = max(fewest, round(epochs * rows * tokens / size.token_budget))
    train: dict[str, Any] = {
        "steps": steps,
        "token_budget": size.token_budget,
        "schedule": "cosine",
        "warmup": max(1, steps // 10),
        "rate": FURTHER_RATE if further else 1e-3,
        "validate_every": -(-steps // VALIDATIONS),
        "choose_by": "score" if rows >= MANY else "loss",  # few held-out rows are soon all right
        "patience": 0,
        "average": 3,
    }
    if minutes is not None:
        train["minutes"] = minutes
    if further:
        return {"data": {"max_tokens": LONGEST}, "model": {"dropout": 0.1}, "train": train}
    model = {
        "preset": "tiny",
        "d_model": size.d_model,
        "encoder_layers": size.layers,
        "heads": size.d_model // 32,
        "ffn_size": 2 * size.d_model,
        "norm_order": "pre",
        "dropout": size.dropout,
    }
    return {
        "data": {"max_tokens": LONGEST},
        "tokenizer": {"kind": "bytes", "size": size.pieces},
        "model": model,
        "train": train,
    }
