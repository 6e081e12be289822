"""`regard.train`: a recipe, files or rows in, a trained run out.

run = regard.train("demo", train={"steps": 500})
run = regard.train(frame, columns={"source": "english", "target": "german"}, minutes=30)
run = regard.train(source="train.en", target="train.de", minutes=30)
run.model.translate("How are you?")
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.api.rows import write_rows
from regard.api.trained import Run
from regard.data.column_names import known_places
from regard.errors import MisuseError, nearest
from regard.fit.request import Request
from regard.fit.train import train as carry_out
from regard.runs.columns import KEYS
from regard.runs.objectives import OBJECTIVES

# of a recipe; an objective's own section has its name
SECTIONS = ("objective", "data", "tokenizer", "model", "train", "decode", "lora", *OBJECTIVES)
OnRecord = Callable[[Mapping[str, Any]], None]


def train(
    data: object = None,
    /,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
    texts: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    minutes: float | None = None,
    run: str | Path | None = None,
    resume: str | Path | None = None,
    force: bool = False,
    on_record: OnRecord | None = None,
    quiet: bool = False,
    **sections: Mapping[str, Any] | str,
) -> Run:
    """Train, and give back the run: its model, its history, its curve.

    `data` is the name of a recipe (`regard recipe`), a TOML file, the same as a dict, or rows:
    pairs to translate, or texts with labels (api/rows.py). Own files go to `source` and `target`,
    or to `texts`. `columns` names columns by their role: source, target, text, pair, label.

    `run` is the folder to make, `resume` one to go on with. Keys of the recipe are changed by their
    section: `train={"steps": 500}, model={"dropout": 0.2}`. `on_record` hears each record of
    the log as it is written; `quiet` keeps the terminal clean. Ctrl-C saves and comes back with
    what there is.
    """
    with TemporaryDirectory(prefix="regard-") as place:
        request = Request(
            assignments=(*_assignments(sections), *_column_keys(columns or {})),
            minutes=minutes,
            folder=_path(run),
            resume=_path(resume),
            force=force,
            **_origin(data, _path(source), _path(target), _path(texts), columns or {}, Path(place)),
        )
        outcome = carry_out(request, _ignore if quiet else print, on_record or _ignore)
    return Run(outcome.folder)


def _ignore(told: object) -> None:
    """For those who do not want to hear it."""


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)


def _origin(
    data: object,
    source: Path | None,
    target: Path | None,
    texts: Path | None,
    columns: Mapping[str, str],
    place: Path,
) -> dict[str, Any]:
    """What is trained on, as fields of a request."""
    files = {"source": source, "target": target, "texts": texts}
    if data is None:
        return files
    if any(files.values()):
        raise MisuseError("train: got data and files; expected one of them")
    if isinstance(data, str | Path):
        return {"recipe": Path(data)}
    if isinstance(data, Mapping) and _is_recipe(data):
        return {"tables": dict(data)}
    file = place / "rows.jsonl"
    names = write_rows(data, file, "train")
    labelled = "text" in columns or "label" in columns
    if not columns and not known_places("target", names):
        labelled = bool(known_places("label", names)) and bool(known_places("text", names))
    return {"texts" if labelled else "source": file}


def _is_recipe(data: Mapping[Any, Any]) -> bool:
    """A dict of sections, not of columns."""
    return "data" in data and all(
        isinstance(value, Mapping | str) and key in SECTIONS for key, value in data.items()
    )


def _assignments(sections: Mapping[str, Mapping[str, Any] | str]) -> list[str]:
    """Sections given by keyword, as `regard train` takes them: train.steps=500."""
    words: list[str] = []
    for name, value in sections.items():
        if name not in SECTIONS:
            raise MisuseError(f"train: unknown option {name!r}{nearest(name, SECTIONS)}")
        if isinstance(value, Mapping):
            words += [f"{name}.{key}={_toml(each)}" for key, each in value.items()]
        else:
            words.append(f"{name}={_toml(value)}")
    return words


def _toml(value: object) -> str:
    """A value as TOML spells it, which JSON does too but for nothing at all: ""."""
    return json.dumps("" if value is None else str(value) if isinstance(value, Path) else value)


def _column_keys(columns: Mapping[str, str]) -> list[str]:
    for role in columns:
        if role not in KEYS:
            raise MisuseError(f"train: columns: unknown role {role!r}{nearest(role, KEYS)}")
    return [f"data.{KEYS[role]}={json.dumps(name)}" for role, name in columns.items()]
