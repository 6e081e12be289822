"""The keys that a config.json and a spec share, as a table that is read in both directions.

    FIELDS = {"hidden_size": Field("d_model"), "layer_norm_eps": Field("norm_epsilon", float, 1e-5)}

    read_fields(config, FIELDS)   keys of a config → fields of a spec
    write_fields(spec, FIELDS)    fields of a spec → keys of a config

What is not so simple, a family computes itself. Which head a file has, its tensors say better than
its config.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.checkpoint.families.config import Config
from regard.model.spec import Spec

# their word for an activation → ours; of several words for one, the first is written
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
FieldKind = type[int] | type[float] | type[bool] | Mapping[str, str]


@dataclass(frozen=True)
class Field:
    """One key: the spec's field, what it holds (a table: one of these words), its default."""

    ours: str
    kind: FieldKind = int
    default: Any = ...  # …: the key must be there; None: without it the spec's own default holds

    def read(self, config: Config, key: str) -> Any:
        """What the config holds under the key, in our words."""
        default = None if self.default is ... else self.default
        if isinstance(self.kind, Mapping):
            return config.choice(key, self.kind, default)
        if self.kind is bool:
            return config.flag(key, default)
        return config.real(key, default) if self.kind is float else config.number(key, default)

    def write(self, value: Any) -> Any:
        """The same in theirs; where they have no word, the first stands, which a re-read shows."""
        if not isinstance(self.kind, Mapping):
            return value
        named = [theirs for theirs, ours in self.kind.items() if ours == value]
        return (named or list(self.kind))[0]


def read_fields(config: Config, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The fields of a spec that stand in a config under a key of their own."""
    return {
        field.ours: field.read(config, key)
        for key, field in fields.items()
        if field.default is not None or config.has(key)
    }


def write_fields(spec: Spec, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The keys of a config that are fields of a spec; a size left to a formula is written out."""
    values = vars(spec) | {"kv_heads": spec.groups, "head_size": spec.k}
    return {key: field.write(values[field.ours]) for key, field in fields.items()}


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
