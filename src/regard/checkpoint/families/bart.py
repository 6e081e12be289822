"""BART: Marian's names, with learned positions counted from 2 and a norm after each embedding.

It starts its output from the end token. Classifiers and span heads read the decoder's vectors of
the text itself, which no model of regard does: they are refused.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import ACTIVATIONS, Field
from regard.checkpoint.families.marian import BIAS, HEAD, MARIAN, TABLES, TRAINING
from regard.checkpoint.families.marian import FIELDS as MARIAN_FIELDS
from regard.checkpoint.names import RenameRow, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec
from regard.model.transformer import Transformer

FIELDS = {
    **MARIAN_FIELDS,
    "activation_function": Field("activation", ACTIVATIONS, "gelu"),
    "dropout": Field("dropout", float, 0.1),
}
SKIPPED = 2  # rows of its table of positions that none has
SIDES = {"encoder": "source_embedding", "decoder": "target_embedding"}
# What files of 2020 say of themselves; that is BART. mBART says otherwise.
SAID = {
    "normalize_before": False,
    "normalize_embedding": True,
    "add_final_layer_norm": False,
    "static_position_embeddings": False,
}
OLD = ("add_bias_logits", "extra_pos_embeddings", "force_bos_token_to_be_generated")


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    for head in ("classification_head.dense.weight", "qa_outputs.weight"):
        if head in names:
            problem = f"the file has {head}, a head on the decoder's vectors of the text"
            advice = "of BART regard runs the head that makes text"
            raise CheckpointError(config.where, problem, advice=advice)
    return MARIAN.computed(config, names, read)


def _written(spec: Spec) -> dict[str, Any]:
    return {
        "is_encoder_decoder": True,
        "tie_word_embeddings": spec.tie == "all",
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 2,
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    yield from MARIAN.rows(spec)
    for theirs, ours in SIDES.items():
        table = f"{theirs}.embed_positions.weight"
        yield RenameRow(table, f"{ours}.positions.table", skip=SKIPPED)
        yield from paired(f"{theirs}.", f"{ours}.", {"layernorm_embedding": "norm"})


def _exported(model: Transformer) -> Transformer:
    """With all three matrices apart where any is: the library knows one matrix, or three."""
    if model.spec.tie in ("all", "none"):
        return model
    weights = dict(model.named_parameters(remove_duplicate=False))
    apart = Transformer(replace(model.spec, tie="none"), seed=None)
    with torch.no_grad():
        for name, parameter in apart.named_parameters():
            parameter.copy_(weights[name])
    return apart.train(model.training)


BART = Family(
    "bart",
    architectures={"tokens": "BartForConditionalGeneration"},
    sign=r"(encoder|decoder)\.layernorm_embedding\.weight",
    never=r"(encoder|decoder)\.layer_norm\..*",  # mBART
    fields=FIELDS,
    fixed=dict(positions="learned", embedding_norm=True),
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="model.",
    heads=(HEAD, BIAS),
    expected=SAID,
    equal={
        "decoder_attention_heads": "encoder_attention_heads",
        "decoder_ffn_dim": "encoder_ffn_dim",
    },
    harmless=TRAINING + OLD,
    dropped={
        r"(encoder|decoder)\.embed_tokens\.weight": "the shared embedding once more",
        r"shared\.weight": "unread where both sides have an embedding of their own",
    },
    copies=dict.fromkeys(TABLES, "shared.weight"),
    exported=_exported,
)
