"""GPT-2: pre-norm decoder, learned positions, W_Q, W_K and W_V in one matrix stored transposed."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import ACTIVATIONS, Config, Family, activation_name
from regard.checkpoint.names import Row, paired
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "GPT2LMHeadModel", "none": "GPT2Model"}
# theirs, within h.N. → ours, within decoder.layers.N.; these matrices are stored (in, out)
MAPS = {
    "attn.c_proj": "attention.output",
    "mlp.c_fc": "feed_forward.inner",
    "mlp.c_proj": "feed_forward.outer",
}
NORMS = {"ln_1": "attention_norm.norm", "ln_2": "feed_forward_norm.norm"}


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.expect("scale_attn_by_inverse_layer_idx", False)
    config.expect("reorder_and_upcast_attn", False)
    config.expect("add_cross_attention", False)
    own_head = "lm_head.weight" in names
    tied = config.flag("tie_word_embeddings", True)
    # A tied head needs no tensor; the trunk alone is only what an untied one leaves.
    trunk = not tied and not own_head and config.architecture() == ARCHITECTURES["none"]
    d_model = config.number("n_embd")
    return Spec(
        vocabulary=config.number("vocab_size"),
        d_model=d_model,
        encoder_layers=0,
        decoder_layers=config.number("n_layer"),
        heads=config.number("n_head"),
        score_scale=config.flag("scale_attn_weights", True),
        ffn_size=config.number("n_inner", 4 * d_model),
        activation=config.choice("activation_function", ACTIVATIONS, "gelu_new"),  # type: ignore[arg-type]
        norm_order="pre",
        norm_epsilon=config.real("layer_norm_epsilon", 1e-5),
        embedding_scale=False,
        positions="learned",
        max_length=config.number("n_positions", 1024),
        # What the file holds counts more than what its config says of it.
        tie="all" if tied and not own_head else "none",
        head="none" if trunk else "tokens",
        dropout=config.real("resid_pdrop", 0.1),
        attention_dropout=config.real("attn_pdrop", 0.1),
    )


def _config(spec: Spec) -> dict[str, Any]:
    return {
        "architectures": [ARCHITECTURES.get(spec.head, ARCHITECTURES["tokens"])],
        "model_type": "gpt2",
        "vocab_size": spec.vocabulary,
        "n_embd": spec.d_model,
        "n_layer": spec.decoder_layers,
        "n_head": spec.heads,
        "scale_attn_weights": spec.score_scale,
        "n_inner": spec.ffn_size,
        "activation_function": activation_name(spec.activation),
        "layer_norm_epsilon": spec.norm_epsilon,
        "n_positions": spec.max_length,
        "tie_word_embeddings": spec.tie == "all",
        "resid_pdrop": spec.dropout,
        "embd_pdrop": spec.dropout,
        "attn_pdrop": spec.attention_dropout,
    }


def _rows(spec: Spec) -> Iterator[Row]:
    yield Row("wte.weight", "target_embedding.weight")
    yield Row("wpe.weight", "target_embedding.positions.table")
    for n in range(spec.decoder_layers):
        theirs, ours = f"h.{n}.", f"decoder.layers.{n}."
        for part, how in (("weight", "columns"), ("bias", "pieces")):
            apart = tuple(f"{ours}attention.{name}.{part}" for name in ("query", "key", "value"))
            yield Row(f"{theirs}attn.c_attn.{part}", apart, how)
        for left, right in MAPS.items():
            yield Row(f"{theirs}{left}.weight", f"{ours}{right}.weight", "transpose")
            yield Row(f"{theirs}{left}.bias", f"{ours}{right}.bias")
        yield from paired(theirs, ours, NORMS)
    yield from paired("", "decoder.", {"ln_f": "norm"})
    if spec.head == "tokens" and spec.tie == "none":
        yield Row("lm_head.weight", "output.weight")


GPT2 = Family(
    "gpt2",
    _spec,
    _config,
    _rows,
    prefix="transformer.",
    heads=("lm_head.", "multiple_choice_head."),
    harmless=(
        "n_ctx",  # n_positions under its older name
        "embd_pdrop",
        "summary_type",  # of the head that chooses between endings, which is dropped
        "summary_use_proj",
        "summary_activation",
        "summary_proj_to_labels",
        "summary_first_dropout",
    ),
    dropped={
        r"h\.\d+\.attn\.bias": "the look-ahead mask",
        r"h\.\d+\.attn\.masked_bias": "the number that stood for -∞ under it",
        r"multiple_choice_head\.summary\.(weight|bias)": "the head that chooses between endings",
    },
)
