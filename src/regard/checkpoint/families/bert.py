"""BERT: post-norm encoder, learned positions, segments, a norm after the embedding, five heads."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import ACTIVATIONS, Config, Family, activation_name
from regard.checkpoint.names import Row, paired
from regard.model.spec import Spec

# tensor that gives a head away → the head
HEADS = {
    "cls.predictions.transform.dense.weight": "tokens",
    "qa_outputs.weight": "spans",
    "classifier.weight": "classes",
}
ARCHITECTURES = {
    "tokens": "BertForMaskedLM",
    "classes": "BertForSequenceClassification",
    "labels": "BertForTokenClassification",
    "spans": "BertForQuestionAnswering",
    "none": "BertModel",
}
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


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.expect("position_embedding_type", "absolute")
    config.expect("is_decoder", False)
    config.expect("add_cross_attention", False)
    head = next((head for tensor, head in HEADS.items() if tensor in names), "none")
    if head == "classes" and "TokenClassification" in config.architecture():
        head = "labels"
    pooled = "pooler.dense.weight" in names
    tied = config.flag("tie_word_embeddings", True)
    return Spec(
        vocabulary=config.number("vocab_size"),
        d_model=config.number("hidden_size"),
        encoder_layers=config.number("num_hidden_layers"),
        decoder_layers=0,
        heads=config.number("num_attention_heads"),
        ffn_size=config.number("intermediate_size"),
        activation=config.choice("hidden_act", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        norm_epsilon=config.real("layer_norm_eps", 1e-12),
        embedding_scale=False,
        embedding_norm=True,
        segments=config.number("type_vocab_size", 2),
        positions="learned",
        max_length=config.number("max_position_embeddings"),
        tie="all" if tied or head != "tokens" else "none",
        head=head,  # type: ignore[arg-type]
        classes=config.labels() if head in ("classes", "labels") else 0,
        pool="tanh" if pooled else "none",
        output_transform=head == "tokens",
        output_bias=head == "tokens",
        dropout=config.real("hidden_dropout_prob", 0.1),
        attention_dropout=config.real("attention_probs_dropout_prob", 0.1),
    )


def _config(spec: Spec) -> dict[str, Any]:
    return {
        "architectures": [ARCHITECTURES[spec.head]],
        "model_type": "bert",
        "vocab_size": spec.vocabulary,
        "hidden_size": spec.d_model,
        "num_hidden_layers": spec.encoder_layers,
        "num_attention_heads": spec.heads,
        "intermediate_size": spec.ffn_size,
        "hidden_act": activation_name(spec.activation),
        "layer_norm_eps": spec.norm_epsilon,
        "type_vocab_size": spec.segments,
        "max_position_embeddings": spec.max_length,
        "tie_word_embeddings": spec.tie == "all",
        "hidden_dropout_prob": spec.dropout,
        "attention_probs_dropout_prob": spec.attention_dropout,
        "id2label": {str(i): f"LABEL_{i}" for i in range(spec.classes or 2)},
    }


def _rows(spec: Spec) -> Iterator[Row]:
    start = "embeddings."
    yield Row(f"{start}word_embeddings.weight", "source_embedding.weight")
    yield Row(f"{start}position_embeddings.weight", "source_embedding.positions.table")
    yield Row(f"{start}token_type_embeddings.weight", "source_embedding.segments")
    yield from paired(start, "source_embedding.", {"LayerNorm": "norm"})
    for n in range(spec.encoder_layers):
        yield from paired(f"encoder.layer.{n}.", f"encoder.layers.{n}.", LAYER)
    if spec.pool != "none":
        yield from paired("pooler.", "pooler.", {"dense": "map"})
    if spec.head == "tokens":
        transform = {"dense": "transform", "LayerNorm": "norm"}
        yield from paired("cls.predictions.transform.", "output.", transform)
        if spec.tie == "none":
            yield Row("cls.predictions.decoder.weight", "output.weight")
            yield Row("cls.predictions.decoder.bias", "output.bias")
        else:
            yield Row("cls.predictions.bias", "output.bias")
    elif spec.head != "none":
        name = "qa_outputs" if spec.head == "spans" else "classifier"
        yield from paired("", "classifier.", {name: "map"})


BERT = Family(
    "bert",
    _spec,
    _config,
    _rows,
    prefix="bert.",
    heads=("cls.", "classifier.", "qa_outputs."),
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
