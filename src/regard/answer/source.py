"""Any model that regard can open, with what lies around it: for commands that handle whole folders.

A run of ours, a published folder, a converted one, a llama2.c file, or a name of the hub.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.answer.load import load_encoder, load_run
from regard.answer.published import Published
from regard.bundle.encoder_file import objective_of, read_encoder_file
from regard.bundle.named import folder_of
from regard.checkpoint.families.family import Family
from regard.checkpoint.families.llama import LLAMA
from regard.checkpoint.files import is_published
from regard.checkpoint.headers.look import look
from regard.checkpoint.llama2c import load_llama2c, tokenizer_beside
from regard.checkpoint.published import MAX_CONFIG, family_of, load_published, read_config
from regard.errors import MisuseError
from regard.model.device import choose_device
from regard.model.transformer import Transformer
from regard.runs.folder import Run
from regard.untrusted import read_json


@dataclass(frozen=True)
class Source:
    """A model; `family` is None for a run of ours."""

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


def open_source(path: str | Path, *, allow_pickle: bool = False) -> Source:
    """The model at a path or of a name of the hub, on the CPU, in single precision."""
    choose_device("cpu")  # made sure of, before anything is computed
    place = folder_of(path, allow_pickle)
    if place.is_file():
        return _llama2c(place)
    if is_published(place) and not Run(place).info.is_file():
        model = load_published(place, allow_pickle=allow_pickle)
        config = read_json(place / "config.json", MAX_CONFIG)
        return Source(place, model, family_of(read_config(place)), config)
    run = Run(place)
    if run.info.is_file() and objective_of(run) != "translate":
        encoder = load_encoder(run, "cpu")
        return Source(place, encoder.transformer, encoder.family, _config(encoder))
    return Source(place, load_run(place, "cpu").transformer)


def _config(encoder: Published) -> dict[str, Any]:
    """What config.json of a published folder would say."""
    known = read_encoder_file(encoder.folder)
    if not known.labels:
        return encoder.family.config(encoder.spec)
    named = {str(i): name for i, name in enumerate(known.labels)}
    return {
        **encoder.family.config(encoder.spec),
        "id2label": named,
        "label2id": {name: int(i) for i, name in named.items()},
        "problem_type": known.kind,
    }


def _llama2c(file: Path) -> Source:
    """The one kind of single file that says enough about itself to be a model."""
    kind = look(file).kind
    if kind != "llama2.c":
        raise MisuseError(
            f"{file}: a single file ({kind}); expected a folder with config.json, a run, or a "
            f"llama2.c file. `regard doctor {file}` says what it holds"
        )
    model = load_llama2c(file)
    return Source(file, model, LLAMA, {}, tokenizer_beside(file, model.spec))
