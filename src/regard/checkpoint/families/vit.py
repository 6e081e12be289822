"""ViT: an image as patches, a class token, a pre-norm encoder with a last norm."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import ACTIVATIONS, Field, label_names
from regard.checkpoint.names import RenameRow, paired
from regard.model.spec import Spec

POOLS = {"tanh": "tanh", "relu": "relu"}
FIELDS = {
    "image_size": Field("image_size"),
    "patch_size": Field("patch_size"),
    "num_channels": Field("channels", int, 3),
    "hidden_size": Field("d_model"),
    "num_hidden_layers": Field("encoder_layers"),
    "num_attention_heads": Field("heads"),
    "qkv_bias": Field("qkv_bias", bool, True),
    "intermediate_size": Field("ffn_size"),
    "hidden_act": Field("activation", ACTIVATIONS, "gelu"),
    "layer_norm_eps": Field("norm_epsilon", float, 1e-12),
    "hidden_dropout_prob": Field("dropout", float, 0.0),
    "attention_probs_dropout_prob": Field("attention_dropout", float, 0.0),
}
FIXED = dict(vocabulary=0, decoder_layers=0, norm_order="pre", positions="learned")
# theirs, within encoder.layer.N. → ours, within encoder.layers.N.
QKV = {
    "attention.attention.query": "attention.query",
    "attention.attention.key": "attention.key",
    "attention.attention.value": "attention.value",
}
LAYER = {
    "attention.output.dense": "attention.output",
    "layernorm_before": "attention_norm.norm",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "layernorm_after": "feed_forward_norm.norm",
}
MAP = "embeddings.patch_embeddings.projection."


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    pool = config.choice("pooler_act", POOLS, "tanh")
    classified = "classifier.weight" in names
    pooled = "pooler.dense.weight" in names and not classified
    return {
        "head": "classes" if classified else "none",
        "classes": config.labels() if classified else 0,
        "pool": pool if pooled else "none",
    }


def _written(spec: Spec) -> dict[str, Any]:
    return {
        "pooler_act": "tanh" if spec.pool == "none" else spec.pool,
        "id2label": label_names(spec),
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    d, p = spec.d_model, spec.patch_size
    yield RenameRow("embeddings.cls_token", "patches.token", shape=(1, 1, d))
    table = (1, spec.patches + 1, d)
    yield RenameRow("embeddings.position_embeddings", "patches.table", shape=table)
    # a convolution whose windows do not overlap is a linear map of the patches
    yield RenameRow(f"{MAP}weight", "patches.map.weight", shape=(d, spec.channels, p, p))
    yield RenameRow(f"{MAP}bias", "patches.map.bias")
    for n in range(spec.encoder_layers):
        theirs, ours = f"encoder.layer.{n}.", f"encoder.layers.{n}."
        yield from paired(theirs, ours, QKV, bias=spec.qkv_bias)
        yield from paired(theirs, ours, LAYER)
    yield from paired("", "encoder.", {"layernorm": "norm"})
    if spec.pool != "none":
        yield from paired("pooler.", "pooler.", {"dense": "map"})
    if spec.head == "classes":
        yield from paired("", "classifier.", {"classifier": "map"})


VIT = Family(
    "vit",
    architectures={"classes": "ViTForImageClassification", "none": "ViTModel"},
    sign=r"embeddings\.patch_embeddings\.projection\.weight",
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    prefix="vit.",
    heads=("classifier.",),
    equal={"pooler_output_size": "hidden_size"},
    harmless=("encoder_stride",),  # of the head that paints hidden patches
    dropped={
        r"pooler\.dense\.(weight|bias)": "the classifier reads the class token itself",
        r"embeddings\.mask_token": "stands for hidden patches in pretraining",
        r"decoder\.0\.(weight|bias)": "the head that paints hidden patches",
    },
)
