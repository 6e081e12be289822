"""T5 1.0 and 1.1 (FLAN-T5): pre-norm RMS, a relative bias once per stack, scores as they come.

What 1.1 changed: a gated feed-forward network, an output matrix of its own, logits not scaled.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from regard.checkpoint.families.family import Config, Family
from regard.checkpoint.names import Row, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec

# feed_forward_proj → our activation; the word "gelu" means its tanh form here
FEED_FORWARD = {"relu": "relu", "gated-gelu": "gelu_tanh"}
ATTENTION = {"q": "query", "k": "key", "v": "value", "o": "output"}
RELATIVE = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
HEAD = "lm_head.weight"
Part = tuple[str, str, Mapping[str, str]]  # a sub-layer: their name, ours, the names of its maps


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.expect("is_encoder_decoder", True)
    config.expect("is_decoder", False)
    activation = config.choice("feed_forward_proj", FEED_FORWARD, "relu")
    gated = activation != "relu"
    config.expect("is_gated_act", gated)  # newer files say it twice
    config.expect("dense_act_fn", "gelu_new" if gated else "relu")
    layers = config.number("num_layers")
    decoder_layers = config.number("num_decoder_layers", layers)
    if min(layers, decoder_layers) < 1:
        raise CheckpointError(
            f"{config.where}: num_layers {layers}, num_decoder_layers {decoder_layers}; "
            "expected 1 or more of each"
        )
    rate = config.real("dropout_rate", 0.1)
    tied = config.flag("tie_word_embeddings", True)
    return Spec(
        vocabulary=config.number("vocab_size"),
        d_model=config.number("d_model"),
        encoder_layers=layers,
        decoder_layers=decoder_layers,
        heads=config.number("num_heads"),
        head_size=config.number("d_kv"),
        score_scale=False,
        attention_bias=False,
        ffn_size=config.number("d_ff"),
        activation=activation,  # type: ignore[arg-type]
        gated=gated,
        ffn_bias=False,
        norm="rms",
        norm_order="pre",
        norm_epsilon=config.real("layer_norm_epsilon", 1e-6),
        embedding_scale=False,
        positions="relative",
        relative_buckets=config.number("relative_attention_num_buckets", 32),
        relative_distance=config.number("relative_attention_max_distance", 128),
        # The key about tying has come to mean the scaling: 1.1 is written with it false, and
        # newer files say true whatever they hold. So the file itself tells whether it is tied.
        tie="embeddings" if HEAD in names else "all",
        output_scale=config.flag("scale_decoder_outputs", tied),
        dropout=rate,
        attention_dropout=rate,
        ffn_dropout=rate,
    )


def _config(spec: Spec) -> dict[str, Any]:
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5",
        "is_encoder_decoder": True,
        "vocab_size": spec.vocabulary,
        "d_model": spec.d_model,
        "d_kv": spec.k,
        "d_ff": spec.ffn_size,
        "num_layers": spec.encoder_layers,
        "num_decoder_layers": spec.decoder_layers,
        "num_heads": spec.heads,
        "relative_attention_num_buckets": spec.relative_buckets,
        "relative_attention_max_distance": spec.relative_distance,
        "feed_forward_proj": "gated-gelu" if spec.gated else "relu",
        "layer_norm_epsilon": spec.norm_epsilon,
        "dropout_rate": spec.dropout,
        "scale_decoder_outputs": spec.output_scale,
        "tie_word_embeddings": spec.tie == "all",
        "decoder_start_token_id": 0,  # pad
    }


def _rows(spec: Spec) -> Iterator[Row]:
    yield Row("shared.weight", "source_embedding.weight")
    inner = {"wi_0": "inner", "wi_1": "gate"} if spec.gated else {"wi": "inner"}
    own = ("SelfAttention", "attention", ATTENTION)
    cross = ("EncDecAttention", "cross", ATTENTION)
    ffn = ("DenseReluDense", "feed_forward", {**inner, "wo": "outer"})
    yield from _stack("encoder.", spec.encoder_layers, (own, ffn))
    yield from _stack("decoder.", spec.decoder_layers, (own, cross, ffn))
    if spec.tie == "embeddings":
        yield Row(HEAD, "output.weight")


def _stack(stack: str, layers: int, parts: tuple[Part, ...]) -> Iterator[Row]:
    """One stack; the parts of a block are numbered, each with its norm."""
    yield Row(stack + RELATIVE, f"{stack}relative.weight")
    yield Row(f"{stack}final_layer_norm.weight", f"{stack}norm.weight")
    for n in range(layers):
        for i, (theirs, ours, maps) in enumerate(parts):
            left, right = f"{stack}block.{n}.layer.{i}.", f"{stack}layers.{n}.{ours}"
            yield from paired(f"{left}{theirs}.", f"{right}.", maps, bias=False)
            yield Row(f"{left}layer_norm.weight", f"{right}_norm.norm.weight")


T5 = Family(
    "t5",
    _spec,
    _config,
    _rows,
    harmless=("n_positions",),  # relative positions have no end
    dropped={
        r"(encoder|decoder)\.embed_tokens\.weight": "the shared embedding once more",
        r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight": (
            "a table of the first release that nothing reads"
        ),
    },
    copies={f"{stack}.embed_tokens.weight": "shared.weight" for stack in ("encoder", "decoder")},
)
