"""Marian (OPUS-MT): the paper's model with sinusoids as halves and a bias on the logits.

It starts its output from pad. Which matrices are one, the file itself says: it leaves out those
that are another once more.
"""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import Config, Family
from regard.checkpoint.halves import are_halves, as_halves
from regard.checkpoint.names import Row, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

ACTIVATIONS = {
    "swish": "silu",
    "silu": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
}
# config key → field of the spec
NUMBERS = {
    "vocab_size": "vocabulary",
    "d_model": "d_model",
    "encoder_layers": "encoder_layers",
    "decoder_layers": "decoder_layers",
    "encoder_attention_heads": "heads",
    "encoder_ffn_dim": "ffn_size",
    "max_position_embeddings": "max_length",
}
RATES = {
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "ffn_dropout",
}
# key → the key that it must equal
EQUAL = {
    "decoder_vocab_size": "vocab_size",
    "decoder_attention_heads": "encoder_attention_heads",
    "decoder_ffn_dim": "encoder_ffn_dim",
    "num_hidden_layers": "encoder_layers",  # its older name
}
# do both sides have an embedding of their own, has the output? → tie
TIES = {(0, 0): "all", (0, 1): "embeddings", (1, 0): "target", (1, 1): "none"}
TABLES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
WAVES = ("encoder.embed_positions.weight", "decoder.embed_positions.weight")
HEAD, BIAS = "lm_head.weight", "final_logits_bias"
ATTENTION = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
# theirs, within a layer → ours
LAYER = {
    **{f"self_attn.{left}": f"attention.{right}" for left, right in ATTENTION.items()},
    "self_attn_layer_norm": "attention_norm.norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward_norm.norm",
}
CROSS = {
    **{f"encoder_attn.{left}": f"cross.{right}" for left, right in ATTENTION.items()},
    "encoder_attn_layer_norm": "cross_norm.norm",
}


def _spec(config: Config, names: frozenset[str]) -> Spec:
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "is_decoder"):
        config.expect(key, False)
    config.expect("static_position_embeddings", True)
    for key, other in EQUAL.items():
        wanted = config.number(other)
        if config.number(key, wanted) != wanted:
            raise CheckpointError(
                f"{config.where}: {key} is {config.number(key)}, {other} is {wanted}; regard runs "
                "models where they are equal"
            )
    numbers: dict[str, Any] = {ours: config.number(key) for key, ours in NUMBERS.items()}
    rates: dict[str, Any] = {ours: config.real(key, 0.0) for key, ours in RATES.items()}
    if not numbers["encoder_layers"] or not numbers["decoder_layers"]:
        raise CheckpointError(f"{config.where}: a stack has 0 layers, expected 1 or more in both")
    head = not config.flag("tie_word_embeddings", True) or HEAD in names
    shared = config.flag("share_encoder_decoder_embeddings", True)
    return Spec(
        **numbers,
        **rates,
        activation=config.choice("activation_function", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        embedding_scale=config.flag("scale_embedding", False),
        positions="halves",
        tie=TIES[not shared or (head and names.issuperset(TABLES)), head],  # type: ignore[arg-type]
        output_bias=BIAS in names,
    )


def _config(spec: Spec) -> dict[str, Any]:
    theirs = {ours: name for name, ours in reversed(ACTIVATIONS.items())}
    config = {key: vars(spec)[ours] for key, ours in (NUMBERS | RATES).items()}
    pad = spec.vocabulary - 1  # the family's custom: eos is the first word, pad the last
    return config | {
        **{key: config[other] for key, other in EQUAL.items()},
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "activation_function": theirs[spec.activation],
        "scale_embedding": spec.embedding_scale,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": spec.tie in ("all", "embeddings"),
        "tie_word_embeddings": spec.tie in ("all", "target"),
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
    }


def _rows(spec: Spec) -> Iterator[Row]:
    if spec.tie in ("all", "embeddings"):
        yield Row("shared.weight", "source_embedding.weight")
    else:
        yield Row(TABLES[0], "source_embedding.weight")
        yield Row(TABLES[1], "target_embedding.weight")
    for n in range(spec.encoder_layers):
        yield from paired(f"encoder.layers.{n}.", f"encoder.layers.{n}.", LAYER)
    for n in range(spec.decoder_layers):
        yield from paired(f"decoder.layers.{n}.", f"decoder.layers.{n}.", LAYER | CROSS)
    if spec.tie in ("embeddings", "none"):
        yield Row(HEAD, "output.weight")
    if spec.output_bias:
        yield Row(BIAS, "output.bias", shape=(1, spec.vocabulary))


def _exported(model: Transformer) -> Transformer:
    """In halves, with a bias, and with all three matrices apart where the output's is its own."""
    if model.spec.positions not in ("sinusoidal", "halves"):
        return model  # refused by its name when it is written
    tie = "none" if model.spec.tie == "embeddings" else model.spec.tie
    return as_halves(model, tie=tie, output_bias=True)


TRAINING = ("init_std", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout")
# a bias is in the file or not; sinusoids have no end
OLD = ("add_bias_logits", "extra_pos_embeddings", "_num_labels")

MARIAN = Family(
    "marian",
    _spec,
    _config,
    _rows,
    prefix="model.",
    heads=("lm_head.", BIAS),
    harmless=TRAINING + OLD,
    dropped={
        r"(encoder|decoder)\.embed_positions\.weight": "sinusoids, computed here",
        r"(encoder|decoder)\.embed_tokens\.weight": "the shared embedding once more",
        r"shared\.weight": "unread where both sides have an embedding of their own",
    },
    copies=dict.fromkeys(TABLES, "shared.weight"),
    formulas=dict.fromkeys(WAVES, are_halves),
    exported=_exported,
)
