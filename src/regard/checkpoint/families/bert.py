"""BERT: post-norm encoder, learned positions, segments, a norm after the embedding, five heads."""

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
    "tokens": "BertForMaskedLM",
    "classes": "BertForSequenceClassification",
    "labels": "BertForTokenClassification",
    "spans": "BertForQuestionAnswering",
    "none": "BertModel",
}
# tensor that gives a head away → the head
HEADS = {
    "cls.predictions.transform.dense.weight": "tokens",
    "qa_outputs.weight": "spans",
    "classifier.weight": "classes",
}
FIELDS = {
    "vocab_size": Field("vocabulary"),
    "hidden_size": Field("d_model"),
    "num_hidden_layers": Field("encoder_layers"),
    "num_attention_heads": Field("heads"),
    "intermediate_size": Field("ffn_size"),
    "hidden_act": Field("activation", ACTIVATIONS, "gelu"),
    "layer_norm_eps": Field("norm_epsilon", float, 1e-12),
    "type_vocab_size": Field("segments", int, 2),
    "max_position_embeddings": Field("max_length"),
    "hidden_dropout_prob": Field("dropout", float, 0.1),
    "attention_probs_dropout_prob": Field("attention_dropout", float, 0.1),
}
FIXED = dict(decoder_layers=0, embedding_scale=False, embedding_norm=True, positions="learned")
# theirs, within encoder.layer.N. → ours, within encoder.layers.N.
LAYER = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm.norm",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "output.LayerNorm": "feed_forward_norm.norm",
}


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    head = named_by(HEADS, names)
    pool = "tanh" if "pooler.dense.weight" in names else "none"
    # One and the same tensor for texts and for words; where no class is named, the pooler tells:
    # a text's classes are read off the pooled vector.
    of_words = "TokenClassification" in config.architecture()
    if head == "classes" and (of_words or (not config.architecture() and pool == "none")):
        head = "labels"
    return {"pool": pool, **encoder_head(config, head, config.flag("tie_word_embeddings", True))}


def _written(spec: Spec) -> dict[str, Any]:
    return {"tie_word_embeddings": spec.tie == "all", "id2label": label_names(spec)}


def _rows(spec: Spec) -> Iterator[RenameRow]:
    start = "embeddings."
    yield RenameRow(f"{start}word_embeddings.weight", "source_embedding.weight")
    yield RenameRow(f"{start}position_embeddings.weight", "source_embedding.positions.table")
    yield RenameRow(f"{start}token_type_embeddings.weight", "source_embedding.segments")
    yield from paired(start, "source_embedding.", {"LayerNorm": "norm"})
    yield from stacked("encoder.layer.", "encoder.layers.", spec.encoder_layers, LAYER)
    if spec.pool != "none":
        yield from paired("pooler.", "pooler.", {"dense": "map"})
    if spec.head == "tokens":
        transform = {"dense": "transform", "LayerNorm": "norm"}
        yield from paired("cls.predictions.transform.", "output.", transform)
        if spec.tie == "none":
            yield RenameRow("cls.predictions.decoder.weight", "output.weight")
            yield RenameRow("cls.predictions.decoder.bias", "output.bias")
        else:
            yield RenameRow("cls.predictions.bias", "output.bias")
    elif spec.head != "none":
        name = "qa_outputs" if spec.head == "spans" else "classifier"
        yield from paired("", "classifier.", {name: "map"})


BERT = Family(
    "bert",
    architectures=ARCHITECTURES,
    sign=r"encoder\.layer\.\d+\.attention\.self\.query\.weight",
    never=r"embeddings_project\..*",  # ELECTRA, where files have no prefix
    told_by={"type_vocab_size": 2},
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="bert.",
    heads=("cls.", "classifier.", "qa_outputs."),
    new_heads={"classes": {"pool": "tanh"}, "tokens": WORDS},
    expected={"position_embedding_type": "absolute"},
    harmless=(
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
    ),
    copies={
        "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    dropped={
        r"embeddings\.position_ids": "0, 1, 2, …",
        r"cls\.predictions\.decoder\.(weight|bias)": "the embedding and the bias, once more",
        r"cls\.predictions\.bias": "of an output of its own the bias is decoder.bias",
        r"cls\.seq_relationship\.(weight|bias)": "the head of next-sentence prediction",
    },
)
