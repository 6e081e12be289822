"""What a recipe would take, without its data and without a run: `regard train RECIPE --plan`.

A recipe may be for data that is not here, or for a machine that is not this one. Its keys alone say
how large the model is, what its weights and a batch of ordinary sentences take of memory, and how
many tokens it sees. The vocabulary is taken to be as large as it may be.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.config import override
from regard.datasets.table import named
from regard.decode.options import DecodingOptions
from regard.errors import MisuseError
from regard.fit.preflight import (
    checkpoint_bytes,
    guessed_compute,
    guessed_shape,
    need_of,
    size,
)
from regard.fit.recipe_and_data import read_recipe
from regard.fit.train import model_line
from regard.runs.objectives import OBJECTIVES
from regard.runs.recipe import make_recipe
from regard.runs.sections import Recipe, spec_of


def plan_lines(file: Path, assignments: tuple[str, ...]) -> Iterator[str]:
    """For a person."""
    tables = override(read_recipe(file), assignments)
    recipe = make_recipe(_without_sets(tables), str(file))
    if recipe.train.start_from is not None:
        problem = f"the model is that of {recipe.train.start_from}"
        raise MisuseError("--plan", problem, advice="`regard doctor` says how large it is")
    objective = OBJECTIVES[recipe.objective]
    encoder = {"decoder_layers": 0} if objective.model == "encoder" else {}
    spec = spec_of({**recipe.model, **encoder}, recipe.tokenizer.size)
    train, shape = recipe.train, guessed_shape(recipe.train)
    need = need_of(recipe, spec, shape, guessed_compute(train))
    yield f"Plan:       {file}, objective {recipe.objective}; nothing was read or written"
    yield f"Model:      {model_line(spec, recipe)}, a vocabulary of {spec.vocabulary:,}"
    yield f"Training:   {_length(recipe)}"
    yield (
        f"Memory:     about {size(need.total)} beside the program (weights {size(need.weights)}, "
        f"Adam {size(need.adam)}, gradients {size(need.gradients)}, activations "
        f"{size(need.activations)} of {shape.rows:,} × ({shape.source} + {shape.target}) tokens)"
    )
    yield f"Disk:       about {size(checkpoint_bytes(spec, recipe))} for checkpoints"
    if objective.model != "encoder":
        yield f"Search:     {_search(recipe.decode)}"


def _without_sets(tables: dict[str, Any]) -> dict[str, Any]:
    """A data set's files by their names: whether they are here is not asked."""
    data = dict(tables.get("data") or {})
    dataset = named(data["set"]) if isinstance(data.get("set"), str) and data["set"] else None
    if dataset is not None and dataset.phrasebook:
        data["phrasebook"] = dataset.phrasebook
    elif dataset is not None:
        keys = ("source", "target") if dataset.kind == "pairs" else ("texts",)
        data |= dict(zip(keys, dataset.train, strict=False))
    return {**tables, "data": data}


def _length(recipe: Recipe) -> str:
    train = recipe.train
    tokens = train.token_budget * train.accumulate
    if train.last_step is None:
        return f"{train.minutes:g} minutes, about {tokens:,} tokens a step"
    whole = train.last_step * tokens
    return f"{train.last_step:,} steps of about {tokens:,} tokens: {whole / 1e6:,.1f} million"


def _search(decode: DecodingOptions) -> str:
    return f"beam {decode.beam}, alpha {decode.alpha:g}, length norm {decode.length_norm}"
