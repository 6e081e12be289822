"""The spec of an encoder: by the recipe's preset, or of the model that training starts from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.bundle import open_bundle
from regard.config import build
from regard.errors import ConfigError
from regard.model.spec import Spec
from regard.runs.objectives import OBJECTIVES
from regard.runs.sections import Recipe, spec_of

# family → the layer between the first token's vector and the classes
POOLED_BY = {"bert": "tanh", "distilbert": "relu"}
# a head that is not over words has none of this
NO_WORDS: dict[str, Any] = {"output_transform": False, "output_bias": False, "tie": "all"}
# how BERT and DistilBERT name words
WORDS: dict[str, Any] = {"output_transform": True, "output_bias": True, "tie": "all"}


@dataclass(frozen=True)
class Start:
    """The model that training begins with, before its weights are read."""

    folder: Path
    family: str
    spec: Spec


def open_start(folder: Path) -> Start:
    """A published folder of an encoder, or a run that trained one."""
    bundle = open_bundle(folder)
    if bundle.is_own_translator:
        raise ConfigError(
            f"train.start_from: {folder} is a run that translates; expected an encoder: a BERT or "
            "DistilBERT folder, or a run that trained one"
        )
    start = Start(bundle.path, family=bundle.family, spec=bundle.spec)
    if start.spec.decoder_layers or start.spec.image_size:
        raise ConfigError(
            f"train.start_from: {folder} ({start.family}) is no encoder of texts; expected a BERT "
            "or DistilBERT folder, or a run that trained an encoder"
        )
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
    if head == "classes" and start.spec.pool == "none":
        needed["pool"] = POOLED_BY.get(start.family, "none")
    output = NO_WORDS
    if head != "classes":
        needed["pool"] = "none"  # a layer that nothing asks would learn nothing
    if head == "tokens":
        named = start.spec.head == "tokens"
        output = {} if named else WORDS if start.family in POOLED_BY else NO_WORDS
    values = {**vars(start.spec), **output, **needed, **recipe.model}
    return build(Spec, values, "[model]")
