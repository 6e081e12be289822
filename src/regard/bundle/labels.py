"""Logits → labels with probabilities, for `classify` and `see`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from regard.bundle.encoder_file import NAME as ENCODER
from regard.bundle.encoder_file import read_encoder_file
from regard.errors import CheckpointError, MisuseError
from regard.untrusted import read_json

MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Label:
    """An answer of a classifier; `piece` is the token it is about, where each token has its own."""

    label: str
    probability: float
    piece: str = ""


@dataclass(frozen=True)
class Labels:
    """The names of the classes, and whether several may hold at once."""

    names: tuple[str, ...]
    kind: str = ""  # problem_type of config.json

    def probabilities(self, logits: Float[Tensor, "*L C"]) -> Float[Tensor, "*L C"]:
        """softmax where one class holds, σ where each may hold by itself."""
        if self.kind == "regression":
            raise MisuseError(
                "classify: this model estimates a number, it has no classes; use `logits`"
            )
        several = self.kind == "multi_label_classification" or logits.shape[-1] == 1
        return logits.sigmoid() if several else logits.softmax(dim=-1)

    def best(self, logits: Float[Tensor, " C"], top: int | None) -> list[Label]:
        """The likeliest labels, most likely first."""
        p = self.probabilities(logits)
        order = p.argsort(descending=True, stable=True).tolist()[:top]
        return [Label(self.names[i], float(p[i])) for i in order]

    def of_tokens(self, logits: Float[Tensor, "L C"], pieces: Sequence[str]) -> list[Label]:
        """The likeliest label of each token."""
        p = self.probabilities(logits)
        found = zip(p.argmax(dim=-1).tolist(), p.tolist(), pieces, strict=True)
        return [Label(self.names[i], row[i], piece) for i, row, piece in found]


def read_labels(folder: Path, classes: int) -> Labels:
    """The names that config.json gives the classes; LABEL_0, LABEL_1 … without names.

    A run has them in encoder.json.
    """
    if (folder / ENCODER).is_file():
        known = read_encoder_file(folder)
        return Labels(known.labels, known.kind)
    path = folder / "config.json"
    values = read_json(path, MAX_BYTES)
    named: Any = values.get("id2label") or {}
    if not isinstance(named, Mapping):
        raise CheckpointError(f"{path}: id2label: got {type(named).__name__}, expected an object")
    names = tuple(str(named.get(str(i), f"LABEL_{i}")) for i in range(classes))
    return Labels(names, str(values.get("problem_type") or ""))
