"""Marian (OPUS-MT): the paper's model with sinusoids as halves and a bias on the logits.

It starts from pad and calls SiLU swish. Which matrices are one, a file says by what it leaves out.
"""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import ACTIVATIONS, Field
from regard.checkpoint.names import RenameRow, stacked
from regard.checkpoint.reordered import are_halves, as_halves
from regard.model.spec import Spec
from regard.model.transformer import Transformer

FIELDS = {
    "vocab_size": Field("vocabulary"),
    "d_model": Field("d_model"),
    "encoder_layers": Field("encoder_layers"),
    "decoder_layers": Field("decoder_layers"),
    "encoder_attention_heads": Field("heads"),
    "encoder_ffn_dim": Field("ffn_size"),
    "max_position_embeddings": Field("max_length"),
    "activation_function": Field("activation", {"swish": "silu"} | ACTIVATIONS, "gelu"),
    "scale_embedding": Field("embedding_scale", bool, False),
    "dropout": Field("dropout", float, 0.0),
    "attention_dropout": Field("attention_dropout", float, 0.0),
    "activation_dropout": Field("ffn_dropout", float, 0.0),
}
TRAINING = ("init_std", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout")
OLD = ("add_bias_logits", "extra_pos_embeddings")  # a bias is there or not; sinusoids have no end
NORMS = ("normalize_before", "normalize_embedding", "add_final_layer_norm")  # not here
# do both sides have an embedding of their own, has the output? → tie
TIES = {(0, 0): "all", (0, 1): "embeddings", (1, 0): "target", (1, 1): "none"}
TABLES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
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


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    head = not config.flag("tie_word_embeddings", True) or HEAD in names
    shared = config.flag("share_encoder_decoder_embeddings", True)
    apart = not shared or (head and names.issuperset(TABLES))
    return {"tie": TIES[apart, head], "output_bias": BIAS in names}


def _written(spec: Spec) -> dict[str, Any]:
    pad = spec.vocabulary - 1  # the family's custom: eos is the first word, pad the last
    return {
        "is_encoder_decoder": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": spec.tie in ("all", "embeddings"),
        "tie_word_embeddings": spec.tie in ("all", "target"),
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    if spec.tie in ("all", "embeddings"):
        yield RenameRow("shared.weight", "source_embedding.weight")
    else:
        yield RenameRow(TABLES[0], "source_embedding.weight")
        yield RenameRow(TABLES[1], "target_embedding.weight")
    yield from stacked("encoder.layers.", "encoder.layers.", spec.encoder_layers, LAYER)
    yield from stacked("decoder.layers.", "decoder.layers.", spec.decoder_layers, LAYER | CROSS)
    if spec.tie in ("embeddings", "none"):
        yield RenameRow(HEAD, "output.weight")
    if spec.output_bias:
        yield RenameRow(BIAS, "output.bias", shape=(1, spec.vocabulary))


def _exported(model: Transformer) -> Transformer:
    """In halves, with a bias, and with all three matrices apart where the output's is its own."""
    tie = "none" if model.spec.tie == "embeddings" else model.spec.tie
    return as_halves(model, tie=tie, output_bias=True)


MARIAN = Family(
    "marian",
    makes="translate",
    architectures={"tokens": "MarianMTModel"},
    sign=BIAS,  # names of layers are those of fairseq too
    never=r"(encoder|decoder)\.layer_?norm(_embedding)?\..*",  # BART and its kin
    fields=FIELDS,
    fixed=dict(positions="halves"),
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="model.",
    heads=("lm_head.", BIAS),
    expected={"static_position_embeddings": True, **dict.fromkeys(NORMS, False)},
    equal={
        "decoder_vocab_size": "vocab_size",
        "decoder_attention_heads": "encoder_attention_heads",
        "decoder_ffn_dim": "encoder_ffn_dim",
        "num_hidden_layers": "encoder_layers",  # its older name
    },
    harmless=TRAINING + OLD,
    dropped={
        r"(encoder|decoder)\.embed_positions\.weight": "sinusoids, computed here",
        r"(encoder|decoder)\.embed_tokens\.weight": "the shared embedding once more",
        r"shared\.weight": "unread where both sides have an embedding of their own",
    },
    copies=dict.fromkeys(TABLES, "shared.weight"),
    formulas={f"{side}.embed_positions.weight": are_halves for side in ("encoder", "decoder")},
    exported=_exported,
)
