"""A set's name → its files on this machine.

Looked for in $REGARD_DATA, where a person or an administrator has put sets, then in the cache,
where `regard data NAME` puts them. Both have the same folders: `multi30k/train.en.gz`.
"""

import os
from pathlib import Path
from typing import Any

from regard.datasets.table import DataSet, named
from regard.errors import ConfigError, DataError, MisuseError
from regard.places import cache_folder

PACKAGE = Path(__file__).parents[1]
# The keys of a recipe's [data] that say where the data comes from, other than `set`.
KEY_OF = {"images": "images"}  # kind → the key of a recipe that its file is for; others: texts
OTHER_ORIGINS = ("phrasebook", "scenes", "source", "target", "texts", "images")


def data_folders() -> list[Path]:
    """Where sets are looked for, in this order."""
    own = os.environ.get("REGARD_DATA")
    return [*([Path(own).expanduser().absolute()] if own else []), cached_data()]


def cached_data() -> Path:
    """Where sets are fetched to."""
    return cache_folder() / "data"


def find(dataset: DataSet) -> Path | None:
    """The folder with every file of the set; None where there is none."""
    if dataset.inside:
        return PACKAGE / dataset.inside
    for folder in data_folders():
        if dataset.files and all(
            (folder / dataset.folder / f.name).is_file() for f in dataset.files
        ):
            return folder / dataset.folder
    return None


def folder_of_set(name: str) -> Path:
    """The folder of a set that must be here."""
    dataset = named(name)
    if dataset.is_made:
        advice = "a recipe draws them: data.set"
        if dataset.phrasebook:
            language = dataset.phrasebook
            advice = f"`regard phrasebook --language {language} --output FOLDER` writes them"
        raise MisuseError(name, "part of the package, without files", advice=advice)
    folder = find(dataset)
    if folder is None:
        looked = " and ".join(str(place) for place in data_folders())
        how = f"`regard data {name}` fetches it" if dataset.base else _by_hand(name)
        raise DataError(name, f"the data set is not here (looked in {looked})", advice=how)
    return folder


def _by_hand(name: str) -> str:
    return f"it has no public address: `regard data {name} --from FOLDER` takes it from a folder"


def scored_files(name: str) -> tuple[Path, ...]:
    """The files that a model is scored on: one table, or a source and its reference."""
    dataset = named(name)
    if dataset.is_made:
        whose = "the phrasebook" if dataset.phrasebook else "scenes"
        raise MisuseError(name, f"a run on {whose} is scored on it without --set")
    if not dataset.test:
        raise MisuseError(name, f"no test set that `regard evaluate` can score ({dataset.what})")
    folder = folder_of_set(name)
    return tuple(folder / file for file in dataset.test)


def with_sets(tables: dict[str, Any], where: str) -> dict[str, Any]:
    """The tables of a recipe with file names in place of sets: of `data.set`, and of the rows of
    `data.more` and `data.tasks`."""
    data = tables.get("data")
    if not isinstance(data, dict):
        return tables
    more = data.get("more")
    if isinstance(more, list):
        rows = [_further(row, where) if isinstance(row, dict) else row for row in more]
        data = {**data, "more": rows}
    tasks = data.get("tasks")
    if isinstance(tasks, list):
        rows = [_with_set(row, where) if isinstance(row, dict) else row for row in tasks]
        data = {**data, "tasks": rows}
    return {**tables, "data": _with_set(data, where)}


def _further(row: dict[str, Any], where: str) -> dict[str, Any]:
    """A row of `data.more`: of a set, the pairs to train on."""
    opened = _with_set(row, where)
    if "phrasebook" in opened:
        advice = "`regard phrasebook --output FOLDER` makes one of it"
        raise ConfigError(f"{where}: [data]: more", f"{row['set']} is no file", advice=advice)
    return {key: value for key, value in opened.items() if not key.startswith("valid_")}


def _with_set(data: dict[str, Any], where: str) -> dict[str, Any]:
    name = data.get("set")
    if not isinstance(name, str) or not name:
        return data
    others = [key for key in OTHER_ORIGINS if data.get(key)]
    if others:
        clear = " ".join(f"data.{key}=" for key in others)
        problem = f"set and {', '.join(others)} both say where the data comes from"
        advice = f"leave one out (on the command line: {clear})"
        raise ConfigError(f"{where}: [data]", problem, advice=advice)
    dataset = named(name)
    if dataset.phrasebook:
        return {**data, "phrasebook": dataset.phrasebook}
    if dataset.scenes:
        return {**data, "scenes": dataset.scenes}
    if not dataset.train:
        problem = f"{name} is nothing that a recipe trains on ({dataset.what})"
        raise ConfigError(f"{where}: [data]: set", problem)
    folder = folder_of_set(name)
    keys = ("source", "target") if dataset.kind == "pairs" else (KEY_OF.get(dataset.kind, "texts"),)
    files = dict(zip(keys, dataset.train, strict=False))
    if not data.get(f"valid_{keys[0]}"):
        files |= dict(zip([f"valid_{key}" for key in keys], dataset.valid, strict=False))
    return {**data, **{key: str(folder / file) for key, file in files.items()}}
