"""A request → its recipe and its data: read by name or from a file, or chosen for own files.

    a recipe               recipes/named.py, or a file
    --source, --target     a translator for so many pairs (prepare/default_translator.py)
                           … with objective=text-to-text: prepare/default_generator.py
    --texts                an encoder for so many rows (prepare/default_classifier.py)
    --text                 a decoder for so much text (prepare/default_generator.py)
                           … with objective=chat: for so many conversations

Single keys that the person has set come last, and win.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from regard.bundle.named import kept_name
from regard.config import override, read_toml
from regard.datasets.find import with_sets
from regard.errors import MisuseError
from regard.fit.job import Survey, code_of
from regard.fit.request import Request
from regard.fit.warm_start import tables_of_start
from regard.prepare.default_classifier import encoder_for
from regard.prepare.default_generator import decoder_for, talker_for, text_to_text_for
from regard.prepare.default_translator import chosen_tables
from regard.prepare.more_corpora import root_further
from regard.prepare.pairs import survey_pairs
from regard.prepare.texts import Texts
from regard.recipes.named import recipe_file
from regard.runs.recipe import make_recipe
from regard.runs.sections import DataSection, Recipe, TrainSection

# The keys that name a file, by section.
FILE_KEYS = {
    name: [each.name for each in fields(section) if each.type == Path | None]
    for name, section in {"data": DataSection, "train": TrainSection}.items()
}


def recipe_and_data(request: Request) -> tuple[Recipe, Survey]:
    """The recipe, with the columns that were found in its table, and the data."""
    if request.recipe or request.tables is not None:
        read = _from_recipe
    else:
        read = _from_text if request.text else _from_texts if request.texts else _from_files
    recipe, survey = read(request)
    return replace(recipe, data=survey.data), survey


def _from_recipe(request: Request) -> tuple[Recipe, Survey]:
    written = request.tables if request.recipe is None else read_recipe(request.recipe)
    assert written is not None
    tables = override(written, request.assignments)
    if request.minutes is not None:
        tables.setdefault("train", {})["minutes"] = request.minutes
    where = str(request.recipe or "recipe")
    recipe = make_recipe(_rooted(with_sets(tables, where)), where)
    return recipe, code_of(recipe).survey(recipe)


def read_recipe(recipe: Path) -> dict[str, Any]:
    """The tables of a recipe, by its name or path."""
    file = recipe_file(recipe)
    if file.is_file() and file.suffix != ".toml":
        advice = f"for your own files: regard train --source {recipe} --target …"
        raise MisuseError(recipe, "a recipe is a .toml file", advice=advice)
    return read_toml(file)


def _rooted(tables: dict[str, Any]) -> dict[str, Any]:
    """File names of the recipe made absolute, so that the run can be resumed from anywhere."""
    rooted = dict(tables)
    for section, keys in FILE_KEYS.items():
        if isinstance(tables.get(section), dict):
            rooted[section] = dict(tables[section])
            for key in keys:
                name = rooted[section].get(key)
                if isinstance(name, str) and name:
                    is_model = key == "start_from"
                    rooted[section][key] = (
                        kept_name(name) if is_model else str(Path(name).resolve())
                    )
    return root_further(rooted)


def _maker(request: Request) -> Callable[[dict[str, Any]], Recipe]:
    """Tables that were chosen for own files → a recipe, what the person asked for on top."""
    return lambda tables: make_recipe(_rooted(override(tables, request.assignments)), "train")


def _from_texts(request: Request) -> tuple[Recipe, Survey]:
    """No recipe but texts, with labels or whatever else their objective finds in them."""
    assert request.texts is not None

    def survey(recipe: Recipe) -> Texts:
        return cast(Texts, code_of(recipe).survey(recipe))

    return encoder_for(request.texts, request.minutes, _maker(request), survey)


def _from_text(request: Request) -> tuple[Recipe, Survey]:
    """No recipe but text to go on with, or conversations."""
    assert request.text is not None
    objective = override({}, request.assignments).get("objective", "complete")
    if objective not in ("complete", "chat"):
        advice = "others are for --source or --texts, or for a recipe (`regard recipe`)"
        expected = "complete or chat for --text"
        raise MisuseError("objective", got=objective, expected=expected, advice=advice)
    asked = (request.text, request.minutes, request.assignments, _maker(request))
    return talker_for(*asked) if objective == "chat" else decoder_for(*asked)


def _from_files(request: Request) -> tuple[Recipe, Survey]:
    """No recipe: count the pairs first, then choose by their number."""
    source, changes = request.source, request.assignments
    assert source is not None
    if override({}, changes).get("objective") == "text-to-text":
        files = (source, request.target)
        return text_to_text_for(files, request.minutes, changes, _maker(request))

    def recipe_for(pairs: int) -> Recipe:
        tables = chosen_tables(source, request.target, pairs, request.minutes, changes)
        tables |= tables_of_start(changes)
        return make_recipe(_rooted(with_sets(override(tables, changes), "train")), "train")

    uncounted = recipe_for(pairs=0)  # its data section is the one of every size
    corpus = survey_pairs(uncounted.data, uncounted.train.seed)
    return recipe_for(corpus.report.kept), corpus
