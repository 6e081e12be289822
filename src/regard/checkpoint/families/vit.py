"""ViT: an image as patches, a class token, a pre-norm encoder with a last norm."""

from collections.abc import Iterator
from typing import Any

from regard.checkpoint.families.family import ACTIVATIONS, Config, Family
from regard.checkpoint.names import Row, paired
from regard.model.spec import Spec

POOLS = {"tanh": "tanh", "relu": "relu"}
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


def _spec(config: Config, names: frozenset[str]) -> Spec:
    config.expect("pooler_output_size", config.number("hidden_size"))
    pool = config.choice("pooler_act", POOLS, "tanh")
    classified = "classifier.weight" in names
    pooled = "pooler.dense.weight" in names and not classified
    return Spec(
        vocabulary=0,
        image_size=config.number("image_size"),
        patch_size=config.number("patch_size"),
        channels=config.number("num_channels", 3),
        d_model=config.number("hidden_size"),
        encoder_layers=config.number("num_hidden_layers"),
        decoder_layers=0,
        heads=config.number("num_attention_heads"),
        qkv_bias=config.flag("qkv_bias", True),
        ffn_size=config.number("intermediate_size"),
        activation=config.choice("hidden_act", ACTIVATIONS, "gelu"),  # type: ignore[arg-type]
        norm_order="pre",
        norm_epsilon=config.real("layer_norm_eps", 1e-12),
        positions="learned",
        head="classes" if classified else "none",
        classes=config.labels() if classified else 0,
        pool=pool if pooled else "none",  # type: ignore[arg-type]
        dropout=config.real("hidden_dropout_prob", 0.0),
        attention_dropout=config.real("attention_probs_dropout_prob", 0.0),
    )


def _config(spec: Spec) -> dict[str, Any]:
    theirs = {ours: name for name, ours in reversed(ACTIVATIONS.items())}
    return {
        "architectures": ["ViTForImageClassification" if spec.classes else "ViTModel"],
        "model_type": "vit",
        "image_size": spec.image_size,
        "patch_size": spec.patch_size,
        "num_channels": spec.channels,
        "hidden_size": spec.d_model,
        "num_hidden_layers": spec.encoder_layers,
        "num_attention_heads": spec.heads,
        "qkv_bias": spec.qkv_bias,
        "intermediate_size": spec.ffn_size,
        "hidden_act": theirs[spec.activation],
        "layer_norm_eps": spec.norm_epsilon,
        "pooler_act": "tanh" if spec.pool == "none" else spec.pool,
        "pooler_output_size": spec.d_model,
        "hidden_dropout_prob": spec.dropout,
        "attention_probs_dropout_prob": spec.attention_dropout,
        "id2label": {str(i): f"LABEL_{i}" for i in range(spec.classes or 2)},
    }


def _rows(spec: Spec) -> Iterator[Row]:
    d, p = spec.d_model, spec.patch_size
    yield Row("embeddings.cls_token", "patches.token", shape=(1, 1, d))
    table = (1, spec.patches + 1, d)
    yield Row("embeddings.position_embeddings", "patches.table", shape=table)
    # a convolution whose windows do not overlap is a linear map of the patches
    yield Row(f"{MAP}weight", "patches.map.weight", shape=(d, spec.channels, p, p))
    yield Row(f"{MAP}bias", "patches.map.bias")
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
    _spec,
    _config,
    _rows,
    prefix="vit.",
    heads=("classifier.",),
    harmless=("encoder_stride",),  # of the head that paints hidden patches
    dropped={
        r"pooler\.dense\.(weight|bias)": "the classifier reads the class token itself",
        r"embeddings\.mask_token": "stands for hidden patches in pretraining",
        r"decoder\.0\.(weight|bias)": "the head that paints hidden patches",
    },
)
