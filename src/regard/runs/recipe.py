"""The recipe of a training run: TOML → frozen dataclasses (recipe_sections.py, and this one).

`regard recipe demo` comments every key; a test keeps file and dataclasses in step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from regard.config import build
from regard.decode.hypothesis import Search
from regard.errors import ConfigError, nearest
from regard.model.presets import preset
from regard.model.spec import Spec
from regard.runs.rates import settled
from regard.runs.sections import (
    DataSection,
    DistilSection,
    LoraSection,
    SimilarSection,
    TokenizerSection,
    TrainSection,
)
from regard.untrusted import shown


@dataclass(frozen=True)
class Recipe:
    """A whole experiment."""

    data: DataSection
    tokenizer: TokenizerSection = field(default_factory=TokenizerSection)
    model: Mapping[str, Any] = field(default_factory=dict)  # preset, and fields of Spec
    train: TrainSection = field(default_factory=TrainSection)
    decode: Search = field(default_factory=Search)  # how the trained model is asked by default
    objective: str = "translate"  # one of OBJECTIVES
    similar: SimilarSection = field(default_factory=SimilarSection)
    distil: DistilSection = field(default_factory=DistilSection)
    lora: LoraSection = field(default_factory=LoraSection)

    def spec(self, vocabulary: int) -> Spec:
        """The model's spec, once the tokenizer has said how large the vocabulary is."""
        return spec_of(self.model, vocabulary)


# What a model may be trained for.
OBJECTIVES = ("translate", "classify", "fill", "tag", "similar", "distil")


_SECTIONS: dict[str, Any] = {
    "data": DataSection,
    "tokenizer": TokenizerSection,
    "model": Spec,
    "train": TrainSection,
    "decode": Search,
    "similar": SimilarSection,
    "distil": DistilSection,
    "lora": LoraSection,
}


def make_recipe(tables: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that these tables describe; errors name `where`, the section and the key."""
    sections = {name: value for name, value in tables.items() if name != "objective"}
    objective = tables.get("objective", "translate")
    if objective not in OBJECTIVES:
        listed = ", ".join(f'"{name}"' for name in OBJECTIVES)
        raise ConfigError(f"{where}: objective: got {shown(objective)}, expected one of {listed}")
    for name, value in sections.items():
        if name not in _SECTIONS:
            raise ConfigError(f"{where}: unknown key {shown(name)}{_home_of(name)}")
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {name}: expected a section, got {shown(value)}")
    built: dict[str, Any] = {
        name: build(cls, tables.get(name, {}), f"{where}: [{name}]")
        for name, cls in _SECTIONS.items()
        if name != "model"
    }
    if built["train"].minutes is None:  # else the speed of the machine decides (fit/trainer.py)
        built["train"] = settled(built["train"])
    recipe = Recipe(model=dict(tables.get("model", {})), objective=objective, **built)
    if recipe.lora.rank and recipe.train.start_from is None:
        raise ConfigError(
            f"{where}: [lora]: rank: LoRA adapts a trained model; name one as train.start_from, or "
            "set rank to 0"
        )
    if objective != "translate":
        _check_encoder(recipe, where)
        return recipe
    if recipe.data.texts:
        raise ConfigError(f"{where}: [data]: texts are for objectives of an encoder, not translate")
    spec = spec_of(recipe.model, 4000, f"{where}: [model]")  # now, not after an hour of tokenizing
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]: translation needs an encoder and a decoder")
    if spec.position_limit is not None and spec.position_limit <= recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens} and an end; change one of them"
        )
    return recipe


def _check_encoder(recipe: Recipe, where: str) -> None:
    """What can be said about a recipe for an encoder before its data is read."""
    if recipe.objective == "distil" and recipe.train.start_from is None:
        raise ConfigError(
            f"{where}: [train]: start_from: distil needs a teacher, a run that classifies or a "
            "published classifier"
        )
    if recipe.objective == "similar" and not recipe.data.pair:
        raise ConfigError(f"{where}: [data]: pair: similar compares two texts; name both columns")
    if recipe.objective == "tag" and recipe.data.pair:
        raise ConfigError(f"{where}: [data]: pair: tag reads one text; leave pair out")
    if recipe.objective in ("distil", "tag") and recipe.data.labels == "several":
        what = "text" if recipe.objective == "distil" else "word"
        raise ConfigError(
            f"{where}: [data]: labels: {recipe.objective} knows one label a {what}, not several"
        )
    has_phrasebook = recipe.objective in ("fill", "tag")
    if not recipe.data.texts and not (has_phrasebook and recipe.data.phrasebook):
        needed = "a file, or the phrasebook's English side"
        needed = needed if has_phrasebook else "a file with labels"
        raise ConfigError(f"{where}: [data]: {recipe.objective} needs texts, {needed}")
    start = recipe.train.start_from
    if start is not None and "preset" in recipe.model:
        raise ConfigError(f"{where}: [model]: the model is that of {start}; leave preset out")
    if recipe.train.embeddings is not None or recipe.tokenizer.dropout or recipe.data.more:
        raise ConfigError(
            f"{where}: train.embeddings, tokenizer.dropout and data.more are for translate alone"
        )
    for name in ("head", "classes", "decoder_layers", "image_size"):
        if name in recipe.model:
            raise ConfigError(f"{where}: [model]: {name} follows from the objective; leave it out")
    if start is None:
        spec = spec_of({**recipe.model, "decoder_layers": 0}, 4000, f"{where}: [model]")
        if spec.position_limit is not None and spec.position_limit < recipe.data.max_tokens:
            raise ConfigError(
                f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
                f"data.max_tokens {recipe.data.max_tokens}; change one of them"
            )


def _home_of(key: str) -> str:
    """For a key written without its section: where it belongs, or the nearest name."""
    dotted = {f"{s}.{f.name}": f.name for s, cls in _SECTIONS.items() for f in fields(cls)}
    homes = [full for full, name in dotted.items() if name == key]
    return f'; did you mean "{homes[0]}"?' if homes else nearest(key, [*_SECTIONS, *dotted])


def spec_of(model: Mapping[str, Any], vocabulary: int, where: str = "[model]") -> Spec:
    """`preset` and the fields that differ from it, as a spec."""
    changes = dict(model)
    name = changes.pop("preset", "base")
    name = name if isinstance(name, str) else shown(name)
    if "vocabulary" in changes:
        raise ConfigError(f"{where}: vocabulary follows from tokenizer.size; set it there")
    try:
        return preset(name, vocabulary, **changes)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
