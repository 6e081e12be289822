"""Warm start: a new run begins with the weights of another run, or of a published folder.

    run         its vocabulary is taken over, so its embeddings mean the same words here
    published   has a vocabulary of another make: the layers are taken, the embeddings are not

Taken is every weight whose name and shape are the same here and there; all others start from chance
as usual, and it is said which.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.answer.loaded import open_model
from regard.bundle.bundle import open_bundle
from regard.bundle.named import located
from regard.checkpoint.files import read_own_json
from regard.config import override
from regard.errors import CheckpointError, ConfigError
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder

# Rows of these are words: they mean something only with their own vocabulary.
WORDS = ("source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias")
# What an encoder is given anew for another objective.
HEAD = ("head", "classes", "pool", "tie", "output_transform", "output_bias")
SHOWN = 4  # names or fields that a sentence lists


@dataclass(frozen=True)
class WarmStart:
    """What was taken over, for a person and for the log."""

    folder: str
    taken: int
    total: int
    from_chance: tuple[str, ...]
    differing: tuple[str, ...]  # fields of the spec that shapes do not show
    new: tuple[str, ...] = ()  # every weight that is from chance

    def sentences(self) -> list[str]:
        said = [f"{self.taken} of {self.total} weights from {self.folder}"]
        if self.from_chance:
            said.append(f"from chance: {_some(self.from_chance)}")
        if self.differing:
            said.append(
                f"careful, the model is not the same: {_some(self.differing)}; the weights were "
                "trained for another computation"
            )
        return said


def check_start(folder: Path) -> None:
    """Refuse a folder that holds no model, before anything is tokenized."""
    open_bundle(folder)


def tables_of_start(assignments: Sequence[str]) -> dict[str, Any]:
    """For own files without a recipe: the model section of the run that is started from."""
    train = override({}, assignments).get("train")
    name = train.get("start_from") if isinstance(train, dict) else None
    place = located(str(name)) if name else None
    recipe = RunFolder(place).recipe if isinstance(place, Path) else None
    return {"model": read_own_json(recipe)["model"]} if recipe and recipe.is_file() else {}


@torch.no_grad()
def take_weights(model: Transformer, folder: Path, same_words: bool = False) -> WarmStart:
    """Copy what fits into `model`; nothing that fits is an error.

    `same_words`: the tokenizer is that of the folder too, and what differs is only the head.
    """
    other = open_model(folder, "cpu")
    theirs = dict(other.transformer.named_parameters(remove_duplicate=False))
    without = () if same_words or other.bundle.is_own_translator else WORDS
    mine = dict(model.named_parameters())
    alike = [
        name
        for name, weight in mine.items()
        if name in theirs and theirs[name].shape == weight.shape and name not in without
    ]
    if not alike:
        raise ConfigError(
            f"train.start_from: no weight of {folder} has the name and shape of one here: "
            f"{_some(_differing(model.spec, other.transformer.spec))}; change [model] to fit"
        )
    for name in alike:
        mine[name].copy_(theirs[name])
    return WarmStart(
        str(folder),
        len(alike),
        len(mine),
        tuple(_parts(set(mine) - set(alike))),
        tuple(_differing(model.spec, other.transformer.spec, HEAD if same_words else ())),
        tuple(sorted(set(mine) - set(alike))),
    )


@torch.no_grad()
def take_layers(model: Transformer, folder: Path) -> WarmStart:
    """Of a teacher every second layer, or as many as the student has, evenly; and all the rest."""
    other = open_model(folder, "cpu").transformer
    theirs = dict(other.named_parameters())
    mine, start = dict(model.named_parameters()), "encoder.layers."
    many, few = other.spec.encoder_layers, model.spec.encoder_layers
    new = []
    for name, weight in mine.items():
        source = name
        if name.startswith(start):
            number, rest = name.removeprefix(start).split(".", 1)
            source = f"{start}{int(number) * many // few}.{rest}"
        if source in theirs and theirs[source].shape == weight.shape:
            weight.copy_(theirs[source])
        else:
            new.append(name)
    taken = len(mine) - len(new)
    if not taken:
        raise ConfigError("train.start_from", f"no weight of {folder} has the shape of one here")
    differing = _differing(model.spec, other.spec, (*HEAD, "encoder_layers"))
    return WarmStart(str(folder), taken, len(mine), (), tuple(differing), tuple(new))


def first_weights_digest(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 over all weights: a run that is begun again must begin from the same."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def check_digest(weights: Mapping[str, Tensor], stated: object, folder: Path) -> None:
    """Refuse to begin again from weights that were changed in the meantime."""
    if first_weights_digest(weights) != stated:
        raise CheckpointError(
            f"{folder}: its weights are not those that this run began with, and no checkpoint was "
            "written since; start a new run"
        )


def _differing(mine: Spec, theirs: Spec, ignored: Sequence[str] = ()) -> list[str]:
    """Fields that change what the weights compute, whether or not a shape shows it."""
    chance = ("vocabulary", "dropout", "attention_dropout", "ffn_dropout", "max_length", *ignored)
    pairs = [(f.name, vars(mine)[f.name], vars(theirs)[f.name]) for f in fields(Spec)]
    return [f"{n} {a} (there {b})" for n, a, b in pairs if a != b and n not in chance]


def _parts(names: Iterable[str]) -> list[str]:
    """Layers rather than each of their weights."""
    return list(dict.fromkeys(".".join(name.split(".")[:3]) for name in sorted(names)))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
