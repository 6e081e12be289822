"""T5 1.0 and 1.1 (FLAN-T5): pre-norm RMS, a relative bias once per stack, scores as they come.

What 1.1 changed: a gated feed-forward network, an output matrix of its own, logits not scaled.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.families.family import Family, ReadFields
from regard.checkpoint.families.fields import Field
from regard.checkpoint.names import RenameRow, paired
from regard.errors import CheckpointError
from regard.model.spec import Spec

# the word "gelu" means its tanh form here
ACTIVATIONS = {"relu": "relu", "gated-gelu": "gelu_tanh"}
FIELDS = {
    "vocab_size": Field("vocabulary"),
    "d_model": Field("d_model"),
    "num_layers": Field("encoder_layers"),
    "num_heads": Field("heads"),
    "d_kv": Field("head_size"),
    "d_ff": Field("ffn_size"),
    "feed_forward_proj": Field("activation", ACTIVATIONS, "relu"),
    "layer_norm_epsilon": Field("norm_epsilon", float, 1e-6),
    "relative_attention_num_buckets": Field("relative_buckets", int, 32),
    "relative_attention_max_distance": Field("relative_distance", int, 128),
    "dropout_rate": Field("dropout", float, 0.1),
}
FIXED = dict(
    score_scale=False,
    attention_bias=False,
    ffn_bias=False,
    norm="rms",
    norm_order="pre",
    embedding_scale=False,
    positions="relative",
)
ATTENTION = {"q": "query", "k": "key", "v": "value", "o": "output"}
RELATIVE = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
HEAD = "lm_head.weight"
# a sub-layer: their name, ours, the names of its maps
BlockPart = tuple[str, str, Mapping[str, str]]


def _computed(config: Config, names: frozenset[str], read: ReadFields) -> dict[str, Any]:
    gated = read["activation"] != "relu"
    config.expect("is_gated_act", gated)  # newer files say it twice
    config.expect("dense_act_fn", "gelu_new" if gated else "relu")
    decoder_layers = config.number("num_decoder_layers", read["encoder_layers"])
    if not decoder_layers:
        raise CheckpointError(config.where, "num_decoder_layers 0", expected="1 or more")
    tied = config.flag("tie_word_embeddings", True)
    return {
        "decoder_layers": decoder_layers,
        "gated": gated,
        # The key about tying has come to mean the scaling: 1.1 is written with it false, and
        # newer files say true whatever they hold. So the file itself tells whether it is tied.
        "tie": "embeddings" if HEAD in names else "all",
        "output_scale": config.flag("scale_decoder_outputs", tied),
        "attention_dropout": read["dropout"],
        "ffn_dropout": read["dropout"],
    }


def _written(spec: Spec) -> dict[str, Any]:
    return {
        "is_encoder_decoder": True,
        "num_decoder_layers": spec.decoder_layers,
        "scale_decoder_outputs": spec.output_scale,
        "tie_word_embeddings": spec.tie == "all",
        "decoder_start_token_id": 0,  # pad
    }


def _rows(spec: Spec) -> Iterator[RenameRow]:
    yield RenameRow("shared.weight", "source_embedding.weight")
    inner = {"wi_0": "inner", "wi_1": "gate"} if spec.gated else {"wi": "inner"}
    own = ("SelfAttention", "attention", ATTENTION)
    cross = ("EncDecAttention", "cross", ATTENTION)
    ffn = ("DenseReluDense", "feed_forward", {**inner, "wo": "outer"})
    yield from _stack("encoder.", spec.encoder_layers, (own, ffn))
    yield from _stack("decoder.", spec.decoder_layers, (own, cross, ffn))
    if spec.tie == "embeddings":
        yield RenameRow(HEAD, "output.weight")


def _stack(stack: str, layers: int, parts: tuple[BlockPart, ...]) -> Iterator[RenameRow]:
    """One stack; the parts of a block are numbered, each with its norm."""
    yield RenameRow(stack + RELATIVE, f"{stack}relative.weight")
    yield RenameRow(f"{stack}final_layer_norm.weight", f"{stack}norm.weight")
    for n in range(layers):
        for i, (theirs, ours, maps) in enumerate(parts):
            left, right = f"{stack}block.{n}.layer.{i}.", f"{stack}layers.{n}.{ours}"
            yield from paired(f"{left}{theirs}.", f"{right}.", maps, bias=False)
            yield RenameRow(f"{left}layer_norm.weight", f"{right}_norm.norm.weight")


T5 = Family(
    "t5",
    architectures={"tokens": "T5ForConditionalGeneration"},
    sign=r"(encoder|decoder)\.block\.0\..*relative_attention_bias\.weight",
    fields=FIELDS,
    fixed=FIXED,
    computed=_computed,
    written=_written,
    rows=_rows,
    expected={"is_encoder_decoder": True},
    harmless=("n_positions",),  # relative positions have no end
    dropped={
        r"(encoder|decoder)\.embed_tokens\.weight": "the shared embedding once more",
        r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight": (
            "a table of the first release that nothing reads"
        ),
    },
    copies={f"{stack}.embed_tokens.weight": "shared.weight" for stack in ("encoder", "decoder")},
)
