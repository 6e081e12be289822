"""RoBERTa and XLM-RoBERTa: BERT whose positions are counted from 2, and whose heads are its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from regard.checkpoint.families import bert
from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import (
    Field,
    encoder_head,
    label_names,
    named_by,
)
from regard.checkpoint.names import RenameRow, paired, stacked
from regard.model.spec import Spec

ARCHITECTURES = {
    "tokens": "RobertaForMaskedLM",
    "classes": "RobertaForSequenceClassification",
    "labels": "RobertaForTokenClassification",
    "spans": "RobertaForQuestionAnswering",
    "none": "RobertaModel",
}
# tensor that gives a head away → the head
HEADS = {
    "lm_head.dense.weight": "tokens",
    "qa_outputs.weight": "spans",
    "classifier.out_proj.weight": "classes",
    "classifier.weight": "labels",
}
# Padding has position 1, its own id, and the first token of a text the next one.
PAD = 1
SKIPPED = PAD + 1
POSITIONS = "max_position_embeddings"
FIELDS = {
    **{key: field for key, field in bert.FIELDS.items() if key != POSITIONS},
    "hidden_act": Field("activation", {"gelu": "gelu"}, "gelu"),  # that of the head is fixed
}
# head → theirs and ours; a classifier's first layer is what BERT has in its pooler
HEAD_MAPS = {
    "tokens": {"lm_head.dense": "output.transform", "lm_head.layer_norm": "output.norm"},
    "classes": {"classifier.dense": "pooler.map", "classifier.out_proj": "classifier.map"},
    "labels": {"classifier": "classifier.map"},
    "spans": {"qa_outputs": "classifier.map"},
    "none": {},
}


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    head = named_by(HEADS, names)
    pooled = head == "classes" or any(name.startswith("pooler.") for name in names)
    return {
        "max_length": config.number(POSITIONS) - SKIPPED,
        "pool": "tanh" if pooled else "none",
        **encoder_head(config, head, config.flag("tie_word_embeddings", True)),
    }


def _written(spec: Spec) -> dict[str, Any]:
    return {
        POSITIONS: spec.max_length + SKIPPED,
        "pad_token_id": PAD,
        "tie_word_embeddings": spec.tie == "all",
        "id2label": label_names(spec),
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    start = "embeddings."
    yield RenameRow(f"{start}word_embeddings.weight", "source_embedding.weight")
    table = "source_embedding.positions.table"
    yield RenameRow(f"{start}position_embeddings.weight", table, skip=SKIPPED)
    yield RenameRow(f"{start}token_type_embeddings.weight", "source_embedding.segments")
    yield from paired(start, "source_embedding.", {"LayerNorm": "norm"})
    yield from stacked("encoder.layer.", "encoder.layers.", spec.encoder_layers, bert.LAYER)
    if spec.pool != "none" and spec.head != "classes":
        yield from paired("pooler.", "pooler.", {"dense": "map"})
    yield from paired("", "", HEAD_MAPS[spec.head])
    if spec.head == "tokens" and spec.tie == "none":
        yield RenameRow("lm_head.decoder.weight", "output.weight")
        yield RenameRow("lm_head.decoder.bias", "output.bias")
    elif spec.head == "tokens":
        yield RenameRow("lm_head.bias", "output.bias")


ROBERTA = Family(
    "roberta",
    architectures=ARCHITECTURES,
    sign=bert.BERT.sign,  # under its own prefix
    told_by={"type_vocab_size": 1},
    fields=FIELDS,
    fixed=bert.FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="roberta.",
    heads=("lm_head.", "classifier.", "qa_outputs."),
    new_heads=bert.BERT.new_heads,
    expected={"position_embedding_type": "absolute", "pad_token_id": PAD},
    copies={
        "lm_head.decoder.weight": "embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    dropped={
        r"embeddings\.position_ids": "0, 1, 2, …",
        r"lm_head\.decoder\.(weight|bias)": "the embedding and the bias, once more",
        r"lm_head\.bias": "of an output of its own the bias is decoder.bias",
        r"pooler\.dense\.(weight|bias)": "a classifier has a layer of its own instead",
    },
)
XLM_ROBERTA = replace(
    ROBERTA,
    name="xlm-roberta",
    architectures={head: f"XLM{name}" for head, name in ARCHITECTURES.items()},
)
