"""The model that is converted or verified, with what lies around it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.answer.loaded import open_model
from regard.bundle.bundle import Bundle
from regard.checkpoint.families.family import Family
from regard.checkpoint.files import read_config_file
from regard.checkpoint.llama2c import tokenizer_beside
from regard.model.transformer import Transformer

GENERATION = "generation_config.json"


@dataclass(frozen=True)
class Source:
    """A model, on the CPU, in single precision."""

    bundle: Bundle
    model: Transformer

    @property
    def path(self) -> Path:
        """Its folder, or its file."""
        return self.bundle.path

    @property
    def family(self) -> Family | None:
        """None for a run with regard's own tokenizer."""
        own = self.bundle.is_own_translator or self.needs_own_files
        return None if own else self.bundle.family

    @property
    def needs_own_files(self) -> bool:
        """Whether it is a run that puts out what the files of no other format can say."""
        return bool({"parse", "draw"} & set(self.bundle.tasks))

    @property
    def golden(self) -> Path:
        """Where its golden outputs are written."""
        if self.path.is_file():
            return self.path.with_name(f"{self.path.name}.golden.json")
        return self.path / "golden.json"

    @property
    def tokenizer(self) -> Path | None:
        """A file beside a llama2.c file."""
        is_file = self.bundle.kind == "llama2.c"
        return tokenizer_beside(self.path, self.bundle.spec) if is_file else None

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its config.json; of a run of an encoder, what that would say."""
        if not self.bundle.is_run:
            return self.bundle.config
        config, encoder = self.bundle.family.config(self.bundle.spec), self.bundle.encoder_file
        if (self.path / GENERATION).is_file():  # ids, which a spec does not have
            told = read_config_file(self.path, GENERATION)
            config |= {key: value for key, value in told.items() if key.endswith("_token_id")}
        if not encoder.labels:
            return config
        named = {str(i): name for i, name in enumerate(encoder.labels)}
        return {
            **config,
            "id2label": named,
            "label2id": {name: int(i) for i, name in named.items()},
            "problem_type": encoder.kind,
        }


def open_source(name: str | Path, *, allow_pickle: bool = False, strict: bool = False) -> Source:
    """The model at a path or of a name of the hub."""
    model = open_model(name, "cpu", allow_pickle=allow_pickle, strict=strict)
    return Source(model.bundle, model.transformer)
