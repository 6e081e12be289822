"""Which head a file has: its tensors say more than its config, and name it where they can."""

from collections.abc import Mapping
from typing import Any

from regard.checkpoint.families.config import Config
from regard.model.spec import Spec


def named_by(tensors: Mapping[str, str], names: frozenset[str]) -> str:
    """The head of the first tensor that is in the file; `none` where there is none of them."""
    return next((head for tensor, head in tensors.items() if tensor in names), "none")


# Token logits as BERT has them: transformed, with a bias, by the matrix of the embedding.
WORDS = {"output_transform": True, "output_bias": True, "tie": "all"}


def encoder_head(config: Config, head: str, tied: bool) -> dict[str, Any]:
    """The fields of a head as BERT has them: token logits are transformed and have a bias."""
    tokens = head == "tokens"
    return {
        "head": head,
        "classes": config.labels() if head in ("classes", "labels") else 0,
        "tie": "all" if tied or not tokens else "none",
        "output_transform": tokens,
        "output_bias": tokens,
    }


def decoder_head(config: Config, own_matrix: bool, tied: bool, trunk: str) -> dict[str, Any]:
    """The fields of a head that names the next token; `trunk`: the architecture without one.

    A tied head needs no tensor; the trunk alone is only what an untied one leaves.
    """
    alone = not tied and not own_matrix and config.architecture() == trunk
    return {
        "head": "none" if alone else "tokens",
        # What the file holds counts more than what its config says of it.
        "tie": "all" if tied and not own_matrix else "none",
    }


def label_names(spec: Spec) -> dict[str, str]:
    """`id2label` of classes that have no names; two where the model has none, as is the custom."""
    return {str(i): f"LABEL_{i}" for i in range(spec.classes or 2)}
