"""The recipe of a training run: TOML → frozen dataclasses. Every key and default stands here once.

`recipes/demo.toml` comments every key; a test keeps file and dataclasses in step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from regard.config import build
from regard.decode.hypothesis import Search
from regard.errors import ConfigError, nearest
from regard.model.presets import preset
from regard.model.spec import Spec


def _at_least(section: object, least: int, names: Sequence[str]) -> None:
    for name in names:
        value = vars(section)[name]
        if not value >= least:  # NaN fails too
            raise ConfigError(f"{name}: got {value}, expected {least} or more")


@dataclass(frozen=True)
class DataSection:
    """Where the pairs come from, and which are left out."""

    phrasebook: Literal["", "de", "hi"] = ""
    source: Path | None = None
    target: Path | None = None
    valid_source: Path | None = None
    valid_target: Path | None = None
    validation: int = 500
    max_tokens: int = 200
    max_characters: int = 2000
    max_ratio: float = 9.0

    def __post_init__(self) -> None:
        _at_least(self, 1, ("validation", "max_tokens", "max_characters", "max_ratio"))
        if bool(self.phrasebook) == bool(self.source):
            raise ConfigError("expected either phrasebook or source (with target), not both")
        if self.valid_target and not self.valid_source:
            raise ConfigError("valid_target is given without valid_source")


@dataclass(frozen=True)
class TokenizerSection:
    """How text becomes ids: one vocabulary for both languages."""

    kind: Literal["bytes", "unigram", "words", "characters"] = "bytes"
    size: int = 4000


@dataclass(frozen=True)
class TrainSection:
    """The optimisation."""

    steps: int = 100_000
    minutes: float | None = None
    token_budget: int = 4096
    accumulate: int = 1
    warmup: int = 4000
    factor: float = 1.0
    label_smoothing: float = 0.1
    clip: float = 1.0
    validate_every: int = 1000
    bleu_sentences: int = 200
    patience: int = 10
    average: int = 5
    embeddings: Path | None = None
    seed: int = 1
    threads: int = 0
    workers: int = 0
    loaders: int = 0
    memory: int | None = None
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    kernels: Literal["fast", "plain"] = "fast"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"

    def __post_init__(self) -> None:
        at_least_1 = ("steps", "token_budget", "accumulate", "warmup", "validate_every", "average")
        _at_least(self, 1, at_least_1)
        _at_least(
            self, 0, ("factor", "clip", "bleu_sentences", "patience", "seed", "threads", "workers")
        )
        _at_least(self, 0, ("loaders",))
        for name in ("minutes", "memory"):
            if vars(self)[name] is not None:
                _at_least(self, 0, (name,))
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError(f"label_smoothing: got {self.label_smoothing}, expected 0 ≤ ε < 1")


@dataclass(frozen=True)
class Recipe:
    """A whole experiment."""

    data: DataSection
    tokenizer: TokenizerSection = field(default_factory=TokenizerSection)
    model: Mapping[str, Any] = field(default_factory=dict)  # preset, and fields of Spec
    train: TrainSection = field(default_factory=TrainSection)
    decode: Search = field(default_factory=Search)  # how the trained model is asked by default

    def spec(self, vocabulary: int) -> Spec:
        """The model's spec, once the tokenizer has said how large the vocabulary is."""
        return spec_of(self.model, vocabulary)


_SECTIONS: dict[str, Any] = {
    "data": DataSection,
    "tokenizer": TokenizerSection,
    "model": Spec,
    "train": TrainSection,
    "decode": Search,
}


def make_recipe(tables: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that these tables describe; errors name `where`, the section and the key."""
    for name, value in tables.items():
        if name not in _SECTIONS:
            raise ConfigError(f"{where}: unknown key {name!r}{_home_of(name)}")
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {name}: expected a section, got {value!r}")
    built: dict[str, Any] = {
        name: build(cls, tables.get(name, {}), f"{where}: [{name}]")
        for name, cls in _SECTIONS.items()
        if name != "model"
    }
    recipe = Recipe(model=dict(tables.get("model", {})), **built)
    spec = spec_of(recipe.model, 4000, f"{where}: [model]")  # now, not after an hour of tokenizing
    if not spec.encoder_layers or not spec.decoder_layers:
        raise ConfigError(f"{where}: [model]: translation needs an encoder and a decoder")
    if spec.position_limit is not None and spec.position_limit <= recipe.data.max_tokens:
        raise ConfigError(
            f"{where}: [model]: max_length {spec.position_limit} learned positions cannot hold "
            f"data.max_tokens {recipe.data.max_tokens} and an end; change one of them"
        )
    return recipe


def _home_of(key: str) -> str:
    """For a key written without its section: where it belongs, or the nearest name."""
    dotted = {f"{s}.{f.name}": f.name for s, cls in _SECTIONS.items() for f in fields(cls)}
    homes = [full for full, name in dotted.items() if name == key]
    return f'; did you mean "{homes[0]}"?' if homes else nearest(key, [*_SECTIONS, *dotted])


def spec_of(model: Mapping[str, Any], vocabulary: int, where: str = "[model]") -> Spec:
    """`preset` and the fields that differ from it, as a spec."""
    changes = dict(model)
    name = str(changes.pop("preset", "base"))
    if "vocabulary" in changes:
        raise ConfigError(f"{where}: vocabulary follows from tokenizer.size; set it there")
    try:
        return preset(name, vocabulary, **changes)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
