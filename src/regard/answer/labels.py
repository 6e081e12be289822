"""Logits → labels with probabilities, for `classify`, `tag` and `see`."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from regard.bundle.labels import Labels
from regard.errors import MisuseError


@dataclass(frozen=True)
class Label:
    """An answer of a classifier; `piece` is the token it is about, where each token has its own."""

    label: str
    probability: float
    piece: str = ""


def probabilities(labels: Labels, logits: Float[Tensor, "*L C"]) -> Float[Tensor, "*L C"]:
    """softmax where one class holds, σ where each may hold by itself."""
    if labels.kind == "regression":
        problem = "this model estimates a number, it has no classes"
        raise MisuseError("classify", problem, advice="use `logits`")
    several = labels.kind == "multi_label_classification" or logits.shape[-1] == 1
    return logits.sigmoid() if several else logits.softmax(dim=-1)


def best_labels(labels: Labels, logits: Float[Tensor, " C"], top: int | None) -> list[Label]:
    """The likeliest labels, most likely first."""
    p = probabilities(labels, logits)
    order, share = p.argsort(descending=True, stable=True).tolist()[:top], p.tolist()
    return [Label(labels.names[i], share[i]) for i in order]


def token_labels(
    labels: Labels, logits: Float[Tensor, "L C"], pieces: Sequence[str]
) -> list[Label]:
    """The likeliest label of each token."""
    p = probabilities(labels, logits)
    best = zip(p.argmax(dim=-1).tolist(), p.tolist(), pieces, strict=True)
    return [Label(labels.names[i], row[i], piece) for i, row, piece in best]
