"""DistilBERT: BERT without segments and pooler; ε is fixed, and its classifier has a ReLU."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import (
    ACTIVATIONS,
    WORDS,
    Field,
    encoder_head,
    label_names,
    named_by,
)
from regard.checkpoint.names import RenameRow, paired, stacked
from regard.model.spec import Spec

ARCHITECTURES = {
    "tokens": "DistilBertForMaskedLM",
    "classes": "DistilBertForSequenceClassification",
    "labels": "DistilBertForTokenClassification",
    "spans": "DistilBertForQuestionAnswering",
    "none": "DistilBertModel",
}
# tensor that gives a head away → the head; the first that is found counts
HEADS = {
    "vocab_transform.weight": "tokens",
    "qa_outputs.weight": "spans",
    "pre_classifier.weight": "classes",
    "classifier.weight": "labels",
}
FIELDS = {
    "vocab_size": Field("vocabulary"),
    "dim": Field("d_model"),
    "n_layers": Field("encoder_layers"),
    "n_heads": Field("heads"),
    "hidden_dim": Field("ffn_size"),
    "activation": Field("activation", ACTIVATIONS, "gelu"),
    "max_position_embeddings": Field("max_length", int, 512),
    "dropout": Field("dropout", float, 0.1),
    "attention_dropout": Field("attention_dropout", float, 0.1),
}
FIXED = dict(
    decoder_layers=0,
    norm_epsilon=1e-12,
    embedding_scale=False,
    embedding_norm=True,
    positions="learned",
)
# theirs, within transformer.layer.N. → ours, within encoder.layers.N.
LAYER = {
    "attention.q_lin": "attention.query",
    "attention.k_lin": "attention.key",
    "attention.v_lin": "attention.value",
    "attention.out_lin": "attention.output",
    "sa_layer_norm": "attention_norm.norm",
    "ffn.lin1": "feed_forward.inner",
    "ffn.lin2": "feed_forward.outer",
    "output_layer_norm": "feed_forward_norm.norm",
}
# head → theirs and ours
HEAD_MAPS = {
    "tokens": {"vocab_transform": "output.transform", "vocab_layer_norm": "output.norm"},
    "classes": {"pre_classifier": "pooler.map", "classifier": "classifier.map"},
    "labels": {"classifier": "classifier.map"},
    "spans": {"qa_outputs": "classifier.map"},
    "none": {},
}
OUTPUT = "vocab_projector"


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    config.flag("sinusoidal_pos_embds", False)  # how the table began; the file holds it
    head = named_by(HEADS, names)
    tied = config.flag("tie_word_embeddings", True) and f"{OUTPUT}.weight" not in names
    pool = "relu" if head == "classes" else "none"
    return {"pool": pool, **encoder_head(config, head, tied)}


def _written(spec: Spec) -> dict[str, Any]:
    return {
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": spec.tie == "all",
        "pad_token_id": 0,
        "id2label": label_names(spec),
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    yield RenameRow("embeddings.word_embeddings.weight", "source_embedding.weight")
    yield RenameRow("embeddings.position_embeddings.weight", "source_embedding.positions.table")
    yield from paired("embeddings.", "source_embedding.", {"LayerNorm": "norm"})
    yield from stacked("transformer.layer.", "encoder.layers.", spec.encoder_layers, LAYER)
    yield from paired("", "", HEAD_MAPS[spec.head])
    if spec.head == "tokens":
        yield RenameRow(f"{OUTPUT}.bias", "output.bias")
        if spec.tie == "none":
            yield RenameRow(f"{OUTPUT}.weight", "output.weight")


DISTILBERT = Family(
    "distilbert",
    architectures=ARCHITECTURES,
    sign=r"transformer\.layer\.\d+\.attention\.q_lin\.weight",
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="distilbert.",
    heads=("vocab_", "pre_classifier.", "classifier.", "qa_outputs."),
    new_heads={"classes": {"pool": "relu"}, "tokens": WORDS},
    harmless=("qa_dropout", "seq_classif_dropout", "tie_weights_"),
    dropped={r"embeddings\.position_ids": "0, 1, 2, …"},
)
