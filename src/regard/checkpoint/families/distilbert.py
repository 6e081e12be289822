"""DistilBERT: BERT without segments and pooler; ε is fixed, and its classifier has a ReLU."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import ACTIVATIONS, Config, Family
from regard.checkpoint.names import Row, paired
from regard.model.spec import Spec

# tensor that gives a head away → the head; the first that is found counts
HEADS = {
    "vocab_transform.weight": "tokens",
    "qa_outputs.weight": "spans",
    "pre_classifier.weight": "classes",
    "classifier.weight": "labels",
}
ARCHITECTURES = {
    "tokens": "DistilBertForMaskedLM",
    "classes": "DistilBertForSequenceClassification",
    "labels": "DistilBertForTokenClassification",
    "spans": "DistilBertForQuestionAnswering",
    "none": "DistilBertModel",
}
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


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.flag("sinusoidal_pos_embds", False)  # how the table began; the file holds it
    head = next((head for tensor, head in HEADS.items() if tensor in names), "none")
    tied = config.flag("tie_word_embeddings", True) and f"{OUTPUT}.weight" not in names
    return Spec(
        vocabulary=config.number("vocab_size"),
        d_model=config.number("dim"),
        encoder_layers=config.number("n_layers"),
        decoder_layers=0,
        heads=config.number("n_heads"),
        ffn_size=config.number("hidden_dim"),
        activation=config.choice("activation", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        norm_epsilon=1e-12,
        embedding_scale=False,
        embedding_norm=True,
        positions="learned",
        max_length=config.number("max_position_embeddings", 512),
        tie="all" if tied or head != "tokens" else "none",
        head=head,  # type: ignore[arg-type]
        classes=config.labels() if head in ("classes", "labels") else 0,
        pool="relu" if head == "classes" else "none",
        output_transform=head == "tokens",
        output_bias=head == "tokens",
        dropout=config.real("dropout", 0.1),
        attention_dropout=config.real("attention_dropout", 0.1),
    )


def _config(spec: Spec) -> dict[str, Any]:
    theirs = {ours: name for name, ours in reversed(ACTIVATIONS.items())}
    return {
        "architectures": [ARCHITECTURES[spec.head]],
        "model_type": "distilbert",
        "vocab_size": spec.vocabulary,
        "dim": spec.d_model,
        "n_layers": spec.encoder_layers,
        "n_heads": spec.heads,
        "hidden_dim": spec.ffn_size,
        "activation": theirs[spec.activation],
        "max_position_embeddings": spec.max_length,
        "sinusoidal_pos_embds": False,
        "tie_word_embeddings": spec.tie == "all",
        "dropout": spec.dropout,
        "attention_dropout": spec.attention_dropout,
        "pad_token_id": 0,
        "id2label": {str(i): f"LABEL_{i}" for i in range(spec.classes or 2)},
    }


def _rows(spec: Spec) -> Iterator[Row]:
    yield Row("embeddings.word_embeddings.weight", "source_embedding.weight")
    yield Row("embeddings.position_embeddings.weight", "source_embedding.positions.table")
    yield from paired("embeddings.", "source_embedding.", {"LayerNorm": "norm"})
    for n in range(spec.encoder_layers):
        yield from paired(f"transformer.layer.{n}.", f"encoder.layers.{n}.", LAYER)
    yield from paired("", "", HEAD_MAPS[spec.head])
    if spec.head == "tokens":
        yield Row(f"{OUTPUT}.bias", "output.bias")
        if spec.tie == "none":
            yield Row(f"{OUTPUT}.weight", "output.weight")


DISTILBERT = Family(
    "distilbert",
    _spec,
    _config,
    _rows,
    prefix="distilbert.",
    heads=("vocab_", "pre_classifier.", "classifier.", "qa_outputs."),
    harmless=("qa_dropout", "seq_classif_dropout", "tie_weights_"),
    dropped={r"embeddings\.position_ids": "0, 1, 2, …"},
)
