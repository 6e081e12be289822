"""The spec of an encoder: by the recipe's preset, or of the model that training starts from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.encoder_file import read_encoder_file
from regard.bundle.named import folder_of
from regard.bundle.open_run import open_run
from regard.checkpoint.converted import check_converted, is_converted
from regard.checkpoint.files import is_published, read_json
from regard.checkpoint.published import check_published, family_of, read_config
from regard.config import build
from regard.errors import ConfigError
from regard.model.spec import Spec
from regard.runs.folder import Run
from regard.runs.objectives import OBJECTIVES, objective_of
from regard.runs.sections import Recipe, spec_of

# family → the layer between the first token's vector and the classes
POOL = {"bert": "tanh", "distilbert": "relu"}
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
    folder = folder_of(folder)
    if is_published(folder) and not Run(folder).info.is_file():
        family = family_of(read_config(folder)).name
        if is_converted(folder):
            start = Start(folder, family, check_converted(folder)[0])
        else:
            start = Start(folder, family, check_published(folder).spec)
    else:
        run = open_run(folder)
        if objective_of(run).model != "encoder":
            raise ConfigError(
                f"train.start_from: {folder} is a run that translates; expected an encoder: a BERT "
                "or DistilBERT folder, or a run that trained one"
            )
        spec = build(Spec, read_json(run.spec), str(run.spec))
        start = Start(folder, read_encoder_file(folder).family, spec)
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
        needed["pool"] = POOL.get(start.family, "none")
    output = NO_WORDS
    if head != "classes":
        needed["pool"] = "none"  # a layer that nothing asks would learn nothing
    if head == "tokens":
        named = start.spec.head == "tokens"
        output = {} if named else WORDS if start.family in POOL else NO_WORDS
    values = {**vars(start.spec), **output, **needed, **recipe.model}
    return build(Spec, values, "[model]")
