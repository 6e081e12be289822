"""Llama 1, 2 and 3: pre-norm decoder, RMSNorm, rotary positions, grouped K/V, SwiGLU, no biases."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import (
    ACTIVATIONS,
    Field,
    decoder_head,
    read_fields,
    write_fields,
)
from regard.checkpoint.names import RenameRow, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "LlamaForCausalLM", "none": "LlamaModel"}
FIELDS = {
    "vocab_size": Field("vocabulary"),
    "hidden_size": Field("d_model"),
    "num_hidden_layers": Field("decoder_layers"),
    "num_attention_heads": Field("heads"),
    "num_key_value_heads": Field("kv_heads", int, None),
    "head_dim": Field("head_size", int, None),
    "attention_bias": Field("attention_bias", bool, False),
    "intermediate_size": Field("ffn_size"),
    "hidden_act": Field("activation", ACTIVATIONS, "silu"),
    "mlp_bias": Field("ffn_bias", bool, False),
    "rms_norm_eps": Field("norm_epsilon", float, 1e-6),
    "max_position_embeddings": Field("max_length", int, 2048),
    "attention_dropout": Field("attention_dropout", float, 0.0),
}
WITHOUT_BIASES = {key: entry for key, entry in FIELDS.items() if not key.endswith("_bias")}
FIXED = dict(
    encoder_layers=0,
    gated=True,
    norm="rms",
    norm_order="pre",
    embedding_scale=False,
    positions="rotary",
    dropout=0.0,
)
# how positions are stretched, in their word → in ours → what is said of it
SCALINGS = {"default": "none", "linear": "linear", "llama3": "slow"}
FACTOR = {"factor": Field("rotary_factor", float)}
SLOW = {
    "low_freq_factor": Field("rotary_low", float),
    "high_freq_factor": Field("rotary_high", float),
    "original_max_position_embeddings": Field("rotary_length", int, None),
}
SCALED: dict[str, dict[str, Field]] = {"none": {}, "linear": FACTOR, "slow": FACTOR | SLOW}
# theirs, within layers.N. → ours, within decoder.layers.N.
QKV = {"q_proj": "query", "k_proj": "key", "v_proj": "value"}
OUTPUT = {"o_proj": "output"}
FFN = {"gate_proj": "inner", "up_proj": "gate", "down_proj": "outer"}
NORMS = {
    "input_layernorm": "attention_norm.norm",
    "post_attention_layernorm": "feed_forward_norm.norm",
}


def rotary(config: Config, trained: int) -> dict[str, Any]:
    """The fields of rotary positions, from `rope_parameters`, or `rope_theta` and `rope_scaling`.

    The newer key holds what both older ones hold; `trained` is the length where a file says none.
    """
    newer, older = config.table("rope_parameters"), config.table("rope_scaling")
    if newer and older:
        raise CheckpointError(config.where, "has rope_parameters and rope_scaling", expected="one")
    config.expect("partial_rotary_factor", 1.0)
    name = "rope_parameters" if newer else "rope_scaling"
    rope = Config(newer or older, f"{config.where}: {name}")
    base = rope.real("rope_theta", config.real("rope_theta", 10_000.0))
    rope.expect("partial_rotary_factor", 1.0)
    kind = rope.choice("rope_type", SCALINGS, rope.text("type", "default"))  # once called type
    fields = {"rotary_base": base, "rotary_scaling": kind, **read_fields(rope, SCALED[kind])}
    if kind == "slow":
        fields.setdefault("rotary_length", trained)
    rope.refuse_the_rest()
    return fields


def head_and_positions(
    config: Config, names: frozenset[str], read: ReadFields, trunk: str = ARCHITECTURES["none"]
) -> dict[str, Any]:
    """The fields that take a thought; `trunk` is the architecture without a head."""
    tied = config.flag("tie_word_embeddings", False)
    head = decoder_head(config, "lm_head.weight" in names, tied, trunk)
    return head | rotary(config, read["max_length"])


def _written(spec: Spec) -> dict[str, Any]:
    scaling = Field("rotary_scaling", SCALINGS).write(spec.rotary_scaling)
    said = {"rope_type": scaling, **write_fields(spec, SCALED[spec.rotary_scaling])}
    return {
        "rope_theta": spec.rotary_base,  # the older keys, which every version reads
        "rope_scaling": None if spec.rotary_scaling == "none" else said,
        "tie_word_embeddings": spec.tie == "all",
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    yield RenameRow("embed_tokens.weight", "target_embedding.weight")
    for n in range(spec.decoder_layers):
        theirs, ours = f"layers.{n}.", f"decoder.layers.{n}."
        their_attention, attention = f"{theirs}self_attn.", f"{ours}attention."
        bias = spec.attention_bias
        yield from paired(their_attention, attention, QKV, bias=bias and spec.qkv_bias)
        yield from paired(their_attention, attention, OUTPUT, bias=bias and spec.o_bias)
        yield from paired(f"{theirs}mlp.", f"{ours}feed_forward.", FFN, bias=spec.ffn_bias)
        yield from paired(theirs, ours, NORMS, bias=False)
    yield RenameRow("norm.weight", "decoder.norm.weight")
    if spec.head == "tokens" and spec.tie == "none":
        yield RenameRow("lm_head.weight", "output.weight")


LLAMA = Family(
    "llama",
    architectures=ARCHITECTURES,
    sign=r"layers\.\d+\.mlp\.gate_proj\.weight",
    fields=FIELDS,
    fixed=FIXED,
    computed=head_and_positions,
    written=_written,
    rows=_rows,
    prefix="model.",
    heads=("lm_head.",),
    expected={"pretraining_tp": 1},
    harmless=("max_sequence_length",),  # max_position_embeddings under its oldest name
    dropped={r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq": "computed from rope_theta"},
)
