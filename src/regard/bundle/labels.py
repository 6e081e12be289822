"""The names of a classifier's classes, as its folder says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.encoder_file import NAME as ENCODER
from regard.bundle.encoder_file import ONE, SEVERAL, read_encoder_file
from regard.checkpoint.files import read_config_file
from regard.errors import CheckpointError
from regard.printable import counted


@dataclass(frozen=True)
class Labels:
    """The names of the classes, and whether several may hold at once."""

    names: tuple[str, ...]
    kind: str = ""  # problem_type of config.json


def read_labels(folder: Path, classes: int) -> Labels:
    """The names that config.json gives the classes; LABEL_0, LABEL_1 … without names.

    A run has them in encoder.json; one that was trained without names (a number is learned, say)
    has none there.
    """
    if (folder / ENCODER).is_file():
        encoder = read_encoder_file(folder)
        if not encoder.labels and encoder.kind not in (ONE, SEVERAL):
            return Labels(_unnamed(classes), encoder.kind)
        if len(encoder.labels) != classes:
            raise CheckpointError(
                folder / ENCODER,
                f"got {counted(len(encoder.labels), 'label')}, the model answers with {classes:,}",
                advice="take the file from a copy of the run",
            )
        return Labels(encoder.labels, encoder.kind)
    values = read_config_file(folder)
    named: Any = values.get("id2label") or {}
    if not isinstance(named, Mapping):
        raise CheckpointError(
            f"{folder / 'config.json'}: id2label", got=type(named), expected="an object"
        )
    names = tuple(str(named.get(str(i), name)) for i, name in enumerate(_unnamed(classes)))
    return Labels(names, str(values.get("problem_type") or ""))


def _unnamed(classes: int) -> tuple[str, ...]:
    return tuple(f"LABEL_{i}" for i in range(classes))
