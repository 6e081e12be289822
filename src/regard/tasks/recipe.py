"""The recipe of a training run: TOML → frozen dataclasses. Every key and default stands here once.

`recipes/demo.toml` comments every key; a test keeps file and dataclasses in step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from regard.config import build, override, read_toml
from regard.decode.hypothesis import Search
from regard.errors import ConfigError, nearest
from regard.model.presets import PRESETS
from regard.model.spec import Spec


@dataclass(frozen=True)
class DataSection:
    """Where the pairs come from, and which are left out."""

    phrasebook: Literal["", "de"] = ""
    source: Path | None = None
    target: Path | None = None
    valid_source: Path | None = None
    valid_target: Path | None = None
    validation: int = 500
    max_tokens: int = 200
    max_characters: int = 2000
    max_ratio: float = 9.0

    def __post_init__(self) -> None:
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
    seed: int = 1
    threads: int = 0
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"

    def __post_init__(self) -> None:
        for name in ("steps", "token_budget", "accumulate", "warmup", "validate_every", "average"):
            if vars(self)[name] < 1:
                raise ConfigError(f"{name}: got {vars(self)[name]}, expected 1 or more")
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


_SECTIONS = {f.name for f in fields(Recipe)}


def load_recipe(path: Path, assignments: Sequence[str] = ()) -> Recipe:
    """The recipe of a file with `section.key=value` overrides applied."""
    return make_recipe(override(read_toml(path), assignments), str(path))


def make_recipe(tables: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that these tables describe; errors name `where`, the section and the key."""
    for name, value in tables.items():
        if name not in _SECTIONS:
            raise ConfigError(f"{where}: unknown key {name!r}{_home_of(name)}")
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {name}: expected a section, got {value!r}")
    sections = {
        "data": DataSection,
        "tokenizer": TokenizerSection,
        "train": TrainSection,
        "decode": Search,
    }
    built: dict[str, Any] = {
        name: build(cls, tables.get(name, {}), f"{where}: [{name}]")
        for name, cls in sections.items()
    }
    model = dict(tables.get("model", {}))
    spec_of(model, 4000, f"{where}: [model]")  # checked now, not after an hour of tokenizing
    return Recipe(model=model, **built)


def _home_of(key: str) -> str:
    """For a key written without its section: where it belongs, or the nearest name."""
    dotted = {f"{s}.{f.name}": f.name for s, cls in _KEYS.items() for f in fields(cls)}
    homes = [full for full, name in dotted.items() if name == key]
    return f'; did you mean "{homes[0]}"?' if homes else nearest(key, [*_SECTIONS, *dotted])


_KEYS: dict[str, Any] = {
    "data": DataSection,
    "tokenizer": TokenizerSection,
    "model": Spec,
    "train": TrainSection,
    "decode": Search,
}


def spec_of(model: Mapping[str, Any], vocabulary: int, where: str = "[model]") -> Spec:
    """`preset` and the fields that differ from it, as a spec."""
    changes = dict(model)
    name = changes.pop("preset", "base")
    if name not in PRESETS:
        raise ConfigError(f"{where}: preset: unknown name {name!r}{nearest(str(name), PRESETS)}")
    if "vocabulary" in changes:
        raise ConfigError(f"{where}: vocabulary follows from tokenizer.size; set it there")
    known = ["preset", *(f.name for f in fields(Spec) if f.name != "vocabulary")]
    for key in changes:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{nearest(key, known)}")
    return build(Spec, {"vocabulary": vocabulary, **PRESETS[name], **changes}, where)
