"""GPT-2: pre-norm decoder, learned positions, W_Q, W_K and W_V in one matrix stored transposed."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import ACTIVATIONS, Field, decoder_head
from regard.checkpoint.names import RenameRow, paired
from regard.model.spec import Spec

ARCHITECTURES = {"tokens": "GPT2LMHeadModel", "none": "GPT2Model"}
FIELDS = {
    "vocab_size": Field("vocabulary"),
    "n_embd": Field("d_model"),
    "n_layer": Field("decoder_layers"),
    "n_head": Field("heads"),
    "scale_attn_weights": Field("score_scale", bool, True),
    "activation_function": Field("activation", ACTIVATIONS, "gelu_new"),
    "layer_norm_epsilon": Field("norm_epsilon", float, 1e-5),
    "n_positions": Field("max_length", int, 1024),
    "resid_pdrop": Field("dropout", float, 0.1),
    "attn_pdrop": Field("attention_dropout", float, 0.1),
}
FIXED = dict(encoder_layers=0, norm_order="pre", embedding_scale=False, positions="learned")
# theirs, within h.N. → ours, within decoder.layers.N.; these matrices are stored (in, out)
MAPS = {
    "attn.c_proj": "attention.output",
    "mlp.c_fc": "feed_forward.inner",
    "mlp.c_proj": "feed_forward.outer",
}
NORMS = {"ln_1": "attention_norm.norm", "ln_2": "feed_forward_norm.norm"}


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    tied = config.flag("tie_word_embeddings", True)
    return {
        "ffn_size": config.number("n_inner", 4 * read["d_model"]),
        **decoder_head(config, "lm_head.weight" in names, tied, ARCHITECTURES["none"]),
    }


def _written(spec: Spec) -> dict[str, Any]:
    return {
        "n_inner": spec.ffn_size,
        "embd_pdrop": spec.dropout,
        "tie_word_embeddings": spec.tie == "all",
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    yield RenameRow("wte.weight", "target_embedding.weight")
    yield RenameRow("wpe.weight", "target_embedding.positions.table")
    for n in range(spec.decoder_layers):
        theirs, ours = f"h.{n}.", f"decoder.layers.{n}."
        for part, how in (("weight", "columns"), ("bias", "pieces")):
            apart = tuple(f"{ours}attention.{name}.{part}" for name in ("query", "key", "value"))
            yield RenameRow(f"{theirs}attn.c_attn.{part}", apart, how)
        for left, right in MAPS.items():
            yield RenameRow(f"{theirs}{left}.weight", f"{ours}{right}.weight", "transpose")
            yield RenameRow(f"{theirs}{left}.bias", f"{ours}{right}.bias")
        yield from paired(theirs, ours, NORMS)
    yield from paired("", "decoder.", {"ln_f": "norm"})
    if spec.head == "tokens" and spec.tie == "none":
        yield RenameRow("lm_head.weight", "output.weight")


GPT2 = Family(
    "gpt2",
    architectures=ARCHITECTURES,
    sign=r"h\.\d+\.attn\.c_attn\.weight",
    never=r"tokens_embed\.weight",  # GPT, the first
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="transformer.",
    heads=("lm_head.", "multiple_choice_head."),
    expected={"scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False},
    harmless=(
        "n_ctx",  # n_positions under its older name
        "n_special",  # tokens that training added to the vocabulary, which counts them
        "predict_special_tokens",
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
