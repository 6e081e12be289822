"""The spec: everything that makes one Transformer differ from another, as data.

Letters used for shapes in the whole project (jaxtyping axes, checked while tests run):

    B batch · L query length · S key length · D model · H heads · G key/value heads
    K head size · F hidden size of the feed-forward network · N layers · V vocabulary

A default is written here and nowhere else; the defaults are the paper's base model.
"""

from dataclasses import dataclass
from typing import Literal

from regard.errors import ConfigError

# What a file may ask for before anything is allocated: far above every published model of the
# family, far below what would exhaust a machine by a typo.
BOUNDS = {
    "vocabulary": 2_000_000,
    "d_model": 65_536,
    "encoder_layers": 512,
    "decoder_layers": 512,
    "heads": 1_024,
    "ffn_size": 524_288,
    "max_length": 4_000_000,
}


@dataclass(frozen=True)
class Spec:
    """The shape of a model; `encoder_layers = 0` leaves a decoder-only model and the reverse."""

    vocabulary: int
    d_model: int = 512
    encoder_layers: int = 6
    decoder_layers: int = 6
    heads: int = 8
    kv_heads: int | None = None  # None: as many as heads (G = H)
    head_size: int | None = None  # None: d_model / heads, the paper's d_k = d_v
    ffn_size: int = 2048
    activation: Literal["relu", "gelu"] = "relu"
    norm_order: Literal["post", "pre"] = "post"
    norm_epsilon: float = 1e-5
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 1024  # positions a learned table holds; sinusoids have no limit
    tie: Literal["all", "target", "none"] = "all"  # which of source, target, output share weights
    dropout: float = 0.1  # after each sub-layer, and on embedding + position
    attention_dropout: float = 0.0  # on the attention weights
    ffn_dropout: float = 0.0  # on the hidden layer of the feed-forward network

    def __post_init__(self) -> None:
        for name, limit in BOUNDS.items():
            value = vars(self)[name]
            least = 0 if name.endswith("_layers") else 1
            if not least <= value <= limit:
                raise ConfigError(f"{name}: got {value}, expected {least} to {limit}")
        for name in ("kv_heads", "head_size"):
            if vars(self)[name] is not None and vars(self)[name] < 1:
                raise ConfigError(f"{name}: got {vars(self)[name]}, expected 1 or more")
        if self.encoder_layers == self.decoder_layers == 0:
            raise ConfigError("encoder_layers and decoder_layers are both 0: there is no model")
        if self.head_size is None and self.d_model % self.heads:
            raise ConfigError(
                f"heads: {self.heads} heads do not divide d_model {self.d_model}; "
                "set head_size explicitly or choose another number of heads"
            )
        if self.heads % self.groups:
            raise ConfigError(f"kv_heads: {self.groups} do not divide {self.heads} heads")
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(f"d_model: sinusoids come in pairs, so {self.d_model} must be even")
        for name in ("dropout", "attention_dropout", "ffn_dropout"):
            if not 0 <= vars(self)[name] < 1:
                raise ConfigError(f"{name}: got {vars(self)[name]}, expected 0 ≤ rate < 1")

    @property
    def position_limit(self) -> int | None:
        """The most tokens a text may have; None where positions have no end."""
        return self.max_length if self.positions == "learned" else None

    @property
    def k(self) -> int:
        """K, the size of one head (d_k = d_v)."""
        return self.head_size or self.d_model // self.heads

    @property
    def groups(self) -> int:
        """G, the number of key/value heads."""
        return self.kv_heads or self.heads


def parameter_count(spec: Spec) -> int:
    """The number of weights by formula, counted apart from the modules (a test compares both).

    attention   D·(H·K) + 2·D·(G·K) + (H·K)·D  and a bias for each of the four
    FFN         D·F + F + F·D + D
    norm        2·D  for each sub-layer, and one per stack when norms come first
    embeddings  V·D  once, twice or three times, as they are tied; learned positions max_length·D
    """
    d, f, v = spec.d_model, spec.ffn_size, spec.vocabulary
    inner, outer = spec.heads * spec.k, spec.groups * spec.k
    attention = d * inner + inner + 2 * (d * outer + outer) + inner * d + d
    ffn = d * f + f + f * d + d
    norm = 2 * d
    both = spec.encoder_layers > 0 and spec.decoder_layers > 0
    encoder = spec.encoder_layers * (attention + ffn + 2 * norm)
    decoder = spec.decoder_layers * ((1 + both) * attention + ffn + (2 + both) * norm)
    stacks = (spec.encoder_layers > 0) + (spec.decoder_layers > 0)
    final_norms = stacks * norm if spec.norm_order == "pre" else 0
    matrices = {"all": 1, "target": stacks, "none": stacks + 1}[spec.tie]
    tables = stacks * spec.max_length * d if spec.positions == "learned" else 0
    return encoder + decoder + final_norms + matrices * v * d + tables
