"""Llama 1, 2 and 3: pre-norm decoder, RMSNorm, rotary positions, grouped K/V, SwiGLU, no biases."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import ACTIVATIONS, Config, Family, activation_name
from regard.checkpoint.names import Row, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "LlamaForCausalLM", "none": "LlamaModel"}
SCALINGS = {"default": "none", "linear": "linear", "llama3": "slow"}
# theirs, within layers.N. → ours, within decoder.layers.N.
ATTENTION = {
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.o_proj": "attention.output",
}
FFN = {
    "mlp.gate_proj": "feed_forward.inner",
    "mlp.up_proj": "feed_forward.gate",
    "mlp.down_proj": "feed_forward.outer",
}
NORMS = {
    "input_layernorm": "attention_norm.norm",
    "post_attention_layernorm": "feed_forward_norm.norm",
}


def _rotary(config: Config, trained: int) -> dict[str, Any]:
    """The fields of rotary positions, from `rope_parameters`, or `rope_theta` and `rope_scaling`.

    The newer key holds what the two older ones hold together. `trained` is the length to assume
    where the file does not say what a stretched model was trained on.
    """
    newer, older = config.table("rope_parameters"), config.table("rope_scaling")
    if newer and older:
        raise CheckpointError(
            f"{config.where}: has rope_parameters and rope_scaling, regard expects one of them"
        )
    config.expect("partial_rotary_factor", 1.0)
    rope = Config(
        newer or older, f"{config.where}: {'rope_parameters' if newer else 'rope_scaling'}"
    )
    base = rope.real("rope_theta", config.real("rope_theta", 10_000.0))
    rope.expect("partial_rotary_factor", 1.0)
    named = rope.text("type", "default")  # the oldest name of the key
    kind = rope.choice("rope_type", SCALINGS, named)
    fields: dict[str, Any] = {"rotary_base": base, "rotary_scaling": kind}
    if kind != "none":
        fields["rotary_factor"] = rope.real("factor")
    if kind == "slow":
        fields["rotary_low"] = rope.real("low_freq_factor")
        fields["rotary_high"] = rope.real("high_freq_factor")
        fields["rotary_length"] = rope.number("original_max_position_embeddings", trained)
    rope.refuse_the_rest()
    return fields


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.expect("pretraining_tp", 1)
    own_head = "lm_head.weight" in names
    tied = config.flag("tie_word_embeddings", False)
    # A tied head needs no tensor; the trunk alone is only what an untied one leaves.
    trunk = not tied and not own_head and config.architecture() == ARCHITECTURES["none"]
    heads, d_model = config.number("num_attention_heads"), config.number("hidden_size")
    length = config.number("max_position_embeddings", 2048)
    return Spec(
        vocabulary=config.number("vocab_size"),
        d_model=d_model,
        encoder_layers=0,
        decoder_layers=config.number("num_hidden_layers"),
        heads=heads,
        kv_heads=config.number("num_key_value_heads", heads),
        head_size=config.number("head_dim") if config.has("head_dim") else None,
        attention_bias=config.flag("attention_bias", False),
        ffn_size=config.number("intermediate_size"),
        activation=config.choice("hidden_act", ACTIVATIONS, "silu"),  # type: ignore[arg-type]
        gated=True,
        ffn_bias=config.flag("mlp_bias", False),
        norm="rms",
        norm_order="pre",
        norm_epsilon=config.real("rms_norm_eps", 1e-6),
        embedding_scale=False,
        positions="rotary",
        max_length=length,
        # What the file holds counts more than what its config says of it.
        tie="all" if tied and not own_head else "none",
        head="none" if trunk else "tokens",
        dropout=0.0,
        attention_dropout=config.real("attention_dropout", 0.0),
        **_rotary(config, length),
    )


def _config(spec: Spec) -> dict[str, Any]:
    scaling: dict[str, Any] | None = None  # the older keys, which every version reads
    if spec.rotary_scaling != "none":
        theirs = {ours: name for name, ours in SCALINGS.items()}[spec.rotary_scaling]
        scaling = {"rope_type": theirs, "factor": spec.rotary_factor}
    if scaling and spec.rotary_scaling == "slow":
        scaling["low_freq_factor"] = spec.rotary_low
        scaling["high_freq_factor"] = spec.rotary_high
        scaling["original_max_position_embeddings"] = spec.rotary_length
    return {
        "architectures": [ARCHITECTURES.get(spec.head, ARCHITECTURES["tokens"])],
        "model_type": "llama",
        "vocab_size": spec.vocabulary,
        "hidden_size": spec.d_model,
        "num_hidden_layers": spec.decoder_layers,
        "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.groups,
        "head_dim": spec.k,
        "attention_bias": spec.attention_bias,
        "intermediate_size": spec.ffn_size,
        "hidden_act": activation_name(spec.activation),
        "mlp_bias": spec.ffn_bias,
        "rms_norm_eps": spec.norm_epsilon,
        "max_position_embeddings": spec.max_length,
        "rope_theta": spec.rotary_base,
        "rope_scaling": scaling,
        "tie_word_embeddings": spec.tie == "all",
        "attention_dropout": spec.attention_dropout,
    }


def _rows(spec: Spec) -> Iterator[Row]:
    yield Row("embed_tokens.weight", "target_embedding.weight")
    for n in range(spec.decoder_layers):
        theirs, ours = f"layers.{n}.", f"decoder.layers.{n}."
        yield from paired(theirs, ours, ATTENTION, bias=spec.attention_bias)
        yield from paired(theirs, ours, FFN, bias=spec.ffn_bias)
        yield from paired(theirs, ours, NORMS, bias=False)
    yield Row("norm.weight", "decoder.norm.weight")
    if spec.head == "tokens" and spec.tie == "none":
        yield Row("lm_head.weight", "output.weight")


LLAMA = Family(
    "llama",
    _spec,
    _config,
    _rows,
    prefix="model.",
    heads=("lm_head.",),
    harmless=("max_sequence_length",),  # max_position_embeddings under its oldest name
    dropped={
        r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq": "computed from rope_theta",
    },
)
