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
    "max_length": 16_000_000,
    "segments": 1_024,
    "classes": 1_000_000,
    "image_size": 16_384,
    "patch_size": 16_384,
    "channels": 1_024,
    "relative_buckets": 65_536,
    "relative_distance": 16_000_000,
    "rotary_length": 16_000_000,
}
MAX_HEAD_SIZE = 65_536
MAX_ROTARY = 1e15
MAY_BE_NONE = (
    "vocabulary",
    "encoder_layers",
    "decoder_layers",
    "segments",
    "classes",
    "image_size",
    "patch_size",
)


@dataclass(frozen=True)
class Spec:
    """The shape of a model; `encoder_layers = 0` leaves a decoder-only model and the reverse."""

    vocabulary: int  # 0: an image comes in and no word goes out
    d_model: int = 512
    encoder_layers: int = 6
    decoder_layers: int = 6
    heads: int = 8
    kv_heads: int | None = None  # None: as many as heads (G = H)
    head_size: int | None = None  # None: d_model / heads, the paper's d_k = d_v
    score_scale: bool = True  # divide scores by √d_k
    attention_bias: bool = True  # W_Q, W_K, W_V and W_O have a bias
    qkv_bias: bool = True  # False: of the four only W_O has one
    o_bias: bool = True  # False: of the four W_O has none
    ffn_size: int = 2048
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    gated: bool = False  # activation(x W_1) ⊙ x W_3 instead of activation(x W_1)
    ffn_bias: bool = True
    norm: Literal["layer", "rms"] = "layer"
    norm_order: Literal["post", "pre"] = "post"
    norm_epsilon: float = 1e-5
    embedding_scale: bool = True  # × √d_model
    embedding_norm: bool = False  # a norm right after the embedding
    segments: int = 0  # rows of a table that tells a first text from a second
    positions: Literal["sinusoidal", "halves", "learned", "rotary", "relative"] = "sinusoidal"
    max_length: int = 1024  # of a learned table; translations with sinusoids end there too
    rotary_base: float = 10_000.0
    rotary_scaling: Literal["none", "linear", "slow"] = "none"
    rotary_factor: float = 1.0  # how many times longer than trained a text may be
    rotary_low: float = 1.0  # slow: waves longer than rotary_length / low are stretched …
    rotary_high: float = 4.0  # … those shorter than rotary_length / high are not
    rotary_length: int = 8192  # positions that the model was trained on before it was stretched
    relative_buckets: int = 32  # distances that a relative bias tells apart
    relative_distance: int = 128  # all beyond share the last bucket
    image_size: int = 0  # pixels of a side; 0: the input is text
    patch_size: int = 0
    channels: int = 3
    tie: Literal["all", "embeddings", "target", "none"] = "all"  # which matrices are one
    head: Literal["tokens", "classes", "labels", "spans", "none"] = "tokens"  # what comes out
    classes: int = 0  # of the heads `classes` (one answer a text) and `labels` (one a token)
    pool: Literal["none", "tanh", "relu"] = "none"  # a dense layer on the first token's vector
    output_transform: bool = False  # dense, activation and norm before the token logits
    output_bias: bool = False
    output_scale: bool = False  # × 1/√d_model before the token logits
    dropout: float = 0.1  # after each sub-layer, and on embedding + position
    attention_dropout: float = 0.0  # on the attention weights
    ffn_dropout: float = 0.0  # on the hidden layer of the feed-forward network

    def __post_init__(self) -> None:
        for name, limit in BOUNDS.items():
            value = vars(self)[name]
            least = 0 if name in MAY_BE_NONE else 1
            if not least <= value <= limit:
                raise ConfigError(name, got=value, expected=f"{least} to {limit}")
        for name in ("kv_heads", "head_size"):
            value = vars(self)[name]
            if value is not None and not 1 <= value <= MAX_HEAD_SIZE:
                raise ConfigError(name, got=value, expected=f"1 to {MAX_HEAD_SIZE}")
        if self.encoder_layers == self.decoder_layers == 0:
            raise ConfigError("encoder_layers and decoder_layers are both 0: there is no model")
        if self.head_size is None and self.d_model % self.heads:
            problem = f"{self.heads} heads do not divide d_model {self.d_model}"
            advice = "set head_size explicitly or choose another number of heads"
            raise ConfigError("heads", problem, advice=advice)
        if self.heads % self.groups:
            raise ConfigError("kv_heads", f"{self.groups} do not divide {self.heads} heads")
        if self.positions in ("sinusoidal", "halves") and self.d_model % 2:
            raise ConfigError("d_model", f"sinusoids come in pairs, so {self.d_model} must be even")
        if self.positions == "rotary" and self.k % 2:
            raise ConfigError("head_size", f"rotations turn pairs, so {self.k} must be even")
        room = 4 <= self.relative_buckets < 2 * self.relative_distance
        if self.positions == "relative" and not room:
            problem = f"for distances up to {self.relative_distance}"
            expected = "4 or more, and less than twice the distance"
            raise ConfigError(
                "relative_buckets", problem, got=self.relative_buckets, expected=expected
            )
        if not 0 < self.norm_epsilon <= 1:
            raise ConfigError("norm_epsilon", got=self.norm_epsilon, expected="0 < ε ≤ 1")
        self._check_input()
        self._check_rotary()
        for name in ("dropout", "attention_dropout", "ffn_dropout"):
            if not 0 <= vars(self)[name] < 1:
                raise ConfigError(name, got=vars(self)[name], expected="0 ≤ rate < 1")

    def _check_input(self) -> None:
        has_words = not self.image_size or self.writes_of_images
        if bool(self.vocabulary) != has_words:
            problem = f"with image_size {self.image_size} and {self.decoder_layers} decoder layers"
            expected = "a number for a model with words on either side, else 0"
            raise ConfigError("vocabulary", problem, got=self.vocabulary, expected=expected)
        if self.image_size and self.positions == "sinusoidal" and self.d_model % 4:
            problem = f"{self.d_model}: sinusoids of rows and of columns come in pairs"
            raise ConfigError("d_model", problem, expected="a multiple of 4")
        if self.image_size and not self.encoder_layers:
            raise ConfigError("encoder_layers", "nothing looks at the image", got=0)
        if self.image_size and (not self.patch_size or self.image_size % self.patch_size):
            problem = f"{self.patch_size} does not divide image_size {self.image_size}"
            raise ConfigError("patch_size", problem)
        if self.head in ("classes", "labels") and not self.classes:
            raise ConfigError("classes", f"head {self.head!r} needs 1 or more", got=0)

    def _check_rotary(self) -> None:
        for name in ("rotary_base", "rotary_factor", "rotary_low", "rotary_high"):
            if not 0 < vars(self)[name] <= MAX_ROTARY:
                expected = f"a number above 0, at most {MAX_ROTARY:.0e}"
                raise ConfigError(name, got=vars(self)[name], expected=expected)
        if self.rotary_low >= self.rotary_high:
            expected = f"less than rotary_high ({self.rotary_high})"
            raise ConfigError("rotary_low", got=self.rotary_low, expected=expected)

    @property
    def patches(self) -> int:
        """How many patches an image has."""
        return (self.image_size // self.patch_size) ** 2 if self.image_size else 0

    @property
    def writes_of_images(self) -> bool:
        """Whether the encoder is given an image and the decoder writes words."""
        return self.image_size > 0 and self.decoder_layers > 0

    @property
    def source_places(self) -> int | None:
        """How many vectors an image becomes, its class token too; None: a text's length says it."""
        return self.patches + 1 if self.image_size else None

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
    FFN         D·F + F + F·D + D, gated D·F (+ F) more
    norm        2·D (RMS: D) for each sub-layer, and one per stack when norms come first
    embeddings  V·D once, twice or three times, as they are tied; tables of positions and segments
    """
    d, f = spec.d_model, spec.ffn_size
    inner, outer = spec.heads * spec.k, spec.groups * spec.k
    attention = d * inner + 2 * d * outer + inner * d
    attention += ((inner + 2 * outer) * spec.qkv_bias + d * spec.o_bias) * spec.attention_bias
    maps = 2 if spec.gated else 1
    ffn = maps * (d * f + f * spec.ffn_bias) + f * d + d * spec.ffn_bias
    norm = d if spec.norm == "rms" else 2 * d
    both = spec.encoder_layers > 0 and spec.decoder_layers > 0
    encoder = spec.encoder_layers * (attention + ffn + 2 * norm)
    decoder = spec.decoder_layers * ((1 + both) * attention + ffn + (2 + both) * norm)
    stacks = (spec.encoder_layers > 0) + (spec.decoder_layers > 0)
    final_norms = stacks * norm if spec.norm_order == "pre" else 0
    return encoder + decoder + final_norms + _input_count(spec, stacks) + _head_count(spec, stacks)


def _input_count(spec: Spec, stacks: int) -> int:
    """Embeddings (those that the output matrix is not counted with) and tables."""
    d, norm = spec.d_model, spec.d_model * (1 if spec.norm == "rms" else 2)
    relative = stacks * spec.relative_buckets * spec.heads * (spec.positions == "relative")
    image = 0
    if spec.image_size:
        image = (spec.channels * spec.patch_size**2 + 1) * d + (spec.patches + 2) * d
        stacks -= 1  # whose input are words
    own = {"all": 1, "embeddings": 1, "target": stacks, "none": stacks}[spec.tie]
    tables = spec.max_length * d * (spec.positions == "learned") + spec.segments * d
    words = own * spec.vocabulary * d + stacks * (tables + norm * spec.embedding_norm)
    return image + words * (stacks > 0) + relative


def _head_count(spec: Spec, stacks: int) -> int:
    """The output matrix, where it is a matrix of its own, and what stands around it."""
    d, norm = spec.d_model, spec.d_model * (1 if spec.norm == "rms" else 2)
    pooler = (d * d + d) * (spec.pool != "none")
    if spec.head in ("classes", "labels", "spans"):
        return pooler + (d + 1) * (2 if spec.head == "spans" else spec.classes)
    if spec.head == "none":
        return pooler
    matrix = spec.vocabulary * d * (spec.tie in ("embeddings", "none"))
    transform = (d * d + d + norm) * spec.output_transform
    return pooler + matrix + transform + spec.vocabulary * spec.output_bias
