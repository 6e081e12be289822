"""The recipe of a training run: TOML → frozen dataclasses (runs/sections.py), checked as a whole.

`regard recipe demo` comments every key; a test keeps file and dataclasses in step.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from regard.config import build
from regard.decode.options import DecodingOptions
from regard.errors import ConfigError, nearest, shown
from regard.model.spec import Spec
from regard.runs.objectives import OBJECTIVES
from regard.runs.rates import with_warmup_and_interval
from regard.runs.sections import DataSection, LoraSection, Recipe, TokenizerSection, TrainSection

# Those of every recipe; an objective may have one more, of its own name.
_SECTIONS: dict[str, Any] = {
    "data": DataSection,
    "tokenizer": TokenizerSection,
    "model": Spec,
    "train": TrainSection,
    "decode": DecodingOptions,
    "lora": LoraSection,
}


def make_recipe(tables: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that these tables describe; errors name `where`, the section and the key."""
    named = tables.get("objective", "translate")
    objective = OBJECTIVES.get(named) if isinstance(named, str) else None
    if objective is None:
        listed = ", ".join(f'"{name}"' for name in OBJECTIVES)
        raise ConfigError(f"{where}: objective", got=named, expected=f"one of {listed}")
    sections = all_sections()
    for name, value in tables.items():
        if name == "objective":
            continue
        if name not in sections:
            raise ConfigError(where, f"unknown key {shown(name)}{_home_of(name)}")
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {name}", got=value, expected="a section")
    built: dict[str, Any] = {
        name: build(cls, tables.get(name, {}), f"{where}: [{name}]")
        for name, cls in sections.items()
        if name != "model"
    }
    if built["train"].minutes is None:  # else the speed of the machine decides (fit/trainer.py)
        built["train"] = with_warmup_and_interval(built["train"])
    usual = {name: built[name] for name in _SECTIONS if name != "model"}
    model, own = dict(tables.get("model", {})), built.get(objective.name)
    recipe = Recipe(model=model, objective=objective.name, own=own, **usual)
    if recipe.lora.rank and recipe.train.start_from is None:
        advice = "name one as train.start_from, or set rank to 0"
        raise ConfigError(f"{where}: [lora]: rank", "LoRA adapts a trained model", advice=advice)
    objective.check_recipe(recipe, where)
    return recipe


def all_sections() -> dict[str, Any]:
    """Name → what may stand in it; those of every recipe, then those of objectives."""
    return _SECTIONS | {name: row.section for name, row in OBJECTIVES.items() if row.section}


def _home_of(key: str) -> str:
    """For a key written without its section: where it belongs, or the nearest name."""
    sections = all_sections()
    dotted = {f"{s}.{f.name}": f.name for s, cls in sections.items() for f in fields(cls)}
    homes = [full for full, name in dotted.items() if name == key]
    return f'; did you mean "{homes[0]}"?' if homes else nearest(key, [*sections, *dotted])
