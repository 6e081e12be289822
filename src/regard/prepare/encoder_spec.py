"""The spec of an encoder: by the recipe's preset, or of the model that training starts from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.bundle import open_bundle
from regard.checkpoint.families.family import Family
from regard.config import build
from regard.errors import ConfigError
from regard.model.spec import Spec
from regard.runs.objectives import OBJECTIVES
from regard.runs.sections import Recipe, spec_of

# What belongs to a head and goes with it; a new one has of this what its family says.
NO_HEAD = {"pool": "none", "output_transform": False, "output_bias": False, "tie": "all"}


@dataclass(frozen=True)
class Start:
    """The model that training begins with, before its weights are read."""

    folder: Path
    family: Family
    spec: Spec


def open_start(folder: Path) -> Start:
    """A published folder of an encoder, or a run that trained one."""
    bundle = open_bundle(folder)
    if bundle.is_own_translator:
        problem = f"{folder} is a run that translates"
        expected = "a published encoder folder, or a run that trained an encoder"
        raise ConfigError("train.start_from", problem, expected=expected)
    start = Start(bundle.path, family=bundle.family, spec=bundle.spec)
    if start.spec.decoder_layers or start.spec.image_size:
        problem = f"{folder} ({start.family.name}) is no encoder of texts"
        expected = "a published encoder folder, or a run that trained an encoder"
        raise ConfigError("train.start_from", problem, expected=expected)
    return start


def encoder_spec(
    recipe: Recipe, vocabulary: int, classes: int, start: Start | None, **changes: int
) -> Spec:
    """The spec with the head that the objective needs; single fields as `changes`, then [model],
    say."""
    head = OBJECTIVES[recipe.objective].head
    needed: dict[str, Any] = {"decoder_layers": 0, "head": head, "classes": classes, **changes}
    if start is None:
        return spec_of({**recipe.model, **needed}, vocabulary)
    if head == "tokens" and start.spec.head == "tokens":
        of_head: Mapping[str, Any] = {"pool": "none"}  # a layer that nothing asks learns nothing
    elif head == "classes" and start.spec.pool != "none":
        of_head = NO_HEAD | {"pool": start.spec.pool}
    else:
        of_head = {**NO_HEAD, **start.family.new_heads.get(head, {})}
    values = {**vars(start.spec), **of_head, **needed, **recipe.model}
    return build(Spec, values, "[model]")
