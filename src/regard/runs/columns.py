"""The columns that a recipe names, as roles of a table; and what a run remembers of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.checkpoint.files import read_own_json
from regard.data.labelled import Columns
from regard.data.report import Report
from regard.data.role import Role
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe
from regard.runs.sections import DataSection, Recipe

KEYS = {  # of a recipe, by role
    "source": "source_column",
    "target": "target_column",
    "text": "text",
    "pair": "pair",
    "label": "label",
}
NOTHING: Mapping[str, str] = {}


def recipe_of(run: RunFolder) -> Recipe | None:
    """What a run was trained by; None if the folder is none."""
    if not run.info.is_file():
        return None
    return make_recipe(read_own_json(run.recipe), str(run.recipe))


def data_of(run: RunFolder) -> DataSection | None:
    """The data section of a run; None if the folder is none."""
    recipe = recipe_of(run)
    return None if recipe is None else recipe.data


def role_of(
    name: str, data: DataSection | None, named: Mapping[str, str] = NOTHING, **more: Any
) -> Role:
    """A role whose column a run remembers, or the user has said now."""
    remembered = "" if data is None else vars(data)[KEYS[name]]
    return Role(name, named.get(name, ""), remembered, **more)


def sides_of(data: DataSection, own: bool = True) -> tuple[Role, Role]:
    """Of pairs. `own`: the recipe speaks of this very file, so its columns must be there."""
    named = _named(data) if own else NOTHING
    return role_of("source", data, named), role_of("target", data, named)


def columns_of(
    data: DataSection, labelled: bool = True, own: bool = True, score: bool = False
) -> Columns:
    """Of texts with labels."""
    named = _named(data) if own else NOTHING
    return Columns(
        role_of("text", data, named),
        role_of("pair", data, named) if data.pair else None,
        role_of("label", data, named, score=score) if labelled else None,
        data.labels == "several",
    )


def _named(data: DataSection) -> dict[str, str]:
    return {role: vars(data)[key] for role, key in KEYS.items()}


def with_columns(data: DataSection, report: Report) -> DataSection:
    """The same, with the columns that were found: every later pass and the run know them."""
    chosen = report.columns
    if chosen is None or not chosen.places:
        return data
    columns: dict[str, Any] = {KEYS[role]: chosen.key(role) for role in chosen.places}
    return replace(data, **columns)
