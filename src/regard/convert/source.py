"""The model that is converted or verified, with what lies around it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.answer.loaded import LoadedModel, open_model
from regard.bundle.bundle import Bundle
from regard.checkpoint.families.family import Family
from regard.checkpoint.llama2c import tokenizer_beside
from regard.model.transformer import Transformer


@dataclass(frozen=True)
class Source:
    """A model; `family` is None for a run that translates."""

    path: Path
    model: Transformer
    family: Family | None = None
    config: dict[str, Any] = field(default_factory=dict)
    tokenizer: Path | None = None  # a file beside a llama2.c file

    @property
    def golden(self) -> Path:
        """Where its golden outputs are written."""
        if self.path.is_file():
            return self.path.with_name(f"{self.path.name}.golden.json")
        return self.path / "golden.json"


def open_source(name: str | Path, *, allow_pickle: bool = False) -> Source:
    """The model at a path or of a name of the hub, on the CPU, in single precision."""
    return source_of(open_model(name, "cpu", allow_pickle=allow_pickle))


def source_of(model: LoadedModel) -> Source:
    """The same of a model that is open."""
    bundle, network = model.bundle, model.transformer
    if bundle.is_own_translator:
        return Source(bundle.path, network)
    family = bundle.family
    beside = tokenizer_beside(bundle.path, bundle.spec) if bundle.kind == "llama2.c" else None
    config = _config_of_run(bundle, family) if bundle.is_run else bundle.config
    return Source(bundle.path, network, family, config, beside)


def _config_of_run(bundle: Bundle, family: Family) -> dict[str, Any]:
    """What config.json of a published folder would say."""
    config, encoder = family.config(bundle.spec), bundle.encoder_file
    if not encoder.labels:
        return config
    named = {str(i): name for i, name in enumerate(encoder.labels)}
    return {
        **config,
        "id2label": named,
        "label2id": {name: int(i) for i, name in named.items()},
        "problem_type": encoder.kind,
    }
