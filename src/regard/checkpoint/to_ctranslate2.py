"""A model of ours → a folder of the ctranslate2 library, which decodes fast on a CPU.

Each weight goes to its place in that library's description of a Transformer. What differs:

    W_Q, W_K, W_V      one matrix below the other; key/value heads are repeated, one for each head
    positions          a table, sinusoids too: the library's own formula has other wavelengths
    pieces that are    a bias of -10⁹ on their logits
    never output

What the library cannot express is refused by name; the torch engine runs every model.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.checkpoint.ctranslate2_info import PRECISIONS, Info, library, write_info
from regard.errors import CheckpointError, MisuseError
from regard.model.attention import MultiHeadAttention
from regard.model.embedding import Embedding
from regard.model.layer import Layer
from regard.model.positions import halves, sinusoids
from regard.model.spec import Spec
from regard.model.stack import Stack
from regard.model.transformer import Transformer

# Sinusoids have no end; a table has. So many rows hold any sentence, and cost 2 MB at d_model 256.
ROWS = 2048
NEVER = -1e9
UNKNOWN = "<unk>"
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
# field → the values that the library can express
KNOWN: dict[str, tuple[Any, ...]] = {
    "head": ("tokens",),
    "image_size": (0,),
    "segments": (0,),
    "output_transform": (False,),
    "rotary_scaling": ("none",),
}

Array = NDArray[np.float32]
Part = TypeVar("Part")


def write_ctranslate2(
    model: Transformer,
    folder: Path,
    pieces: Sequence[str],
    *,
    start: int,
    end: int,
    never: Sequence[int] = (),
    precision: str = "fp32",
    weights: str = "",
) -> Info:
    """Write what the library reads into a folder.

    `pieces` are the vocabulary in the order of its ids; an output starts from `start` and ends with
    `end`. `weights` is what the source calls its weights, for `is_fresh`.
    """
    if precision not in PRECISIONS:
        listed = ", ".join(PRECISIONS)
        raise MisuseError("precision", got=precision, expected=f"one of {listed}")
    check_spec(model.spec)
    _check_pieces(model.spec, pieces)
    theirs = library().specs.TransformerSpec(*_stacks(model.spec))
    _fill_stack(theirs.encoder, model.encoder, model.source_embedding, model.spec)
    _fill_stack(theirs.decoder, model.decoder, model.target_embedding, model.spec)
    theirs.encoder.embeddings[0].weight = _array(_of(model.source_embedding).weight)
    theirs.decoder.embeddings.weight = _array(_of(model.target_embedding).weight)
    _fill_output(theirs.decoder, model, never)
    config = theirs.config
    config.bos_token = config.decoder_start_token = pieces[start]
    config.eos_token = pieces[end]
    # Some piece must be the unknown one; no id of ours is ever unknown to the library.
    config.unk_token = UNKNOWN if UNKNOWN in pieces else pieces[start]
    config.layer_norm_epsilon = model.spec.norm_epsilon
    theirs.register_source_vocabulary(list(pieces))
    theirs.register_target_vocabulary(list(pieces))
    theirs.validate()
    theirs.optimize(quantization=PRECISIONS[precision])
    folder.mkdir(parents=True, exist_ok=True)
    theirs.save(str(folder))
    info = Info(
        weights=weights,
        precision=precision,
        positions=_rows(model.spec),
        start=start,
        end=end,
        never=list(never),
        regard=version("regard"),
        ctranslate2=library().__version__,
    )
    write_info(folder, info)
    return info


def check_spec(spec: Spec) -> None:
    """Refuse what the library cannot express."""
    values = vars(spec)
    refused = [f"{name} = {values[name]}" for name, ok in KNOWN.items() if values[name] not in ok]
    if not spec.encoder_layers or not spec.decoder_layers:
        refused.insert(0, "only one of encoder and decoder")
    if refused:
        raise CheckpointError(
            f"ctranslate2: the library has no model with {', '.join(refused)}; use the torch engine"
        )


def _check_pieces(spec: Spec, pieces: Sequence[str]) -> None:
    different = len(set(pieces))
    if len(pieces) != spec.vocabulary or different != len(pieces):
        problem = f"got {len(pieces)} pieces, {different} different ones"
        expected = f"{spec.vocabulary}, one for each id"
        advice = "the tokenizer belongs to another model"
        raise CheckpointError("ctranslate2", problem, expected=expected, advice=advice)


def _rows(spec: Spec) -> int:
    """How many positions the folder holds."""
    return spec.max_length if spec.positions == "learned" else max(spec.max_length, ROWS)


def _stacks(spec: Spec) -> tuple[Any, Any]:
    """Both stacks of the library's description, still without weights."""
    specs = library().specs
    shape = dict(
        num_heads=spec.heads,
        pre_norm=spec.norm_order == "pre",
        activation=specs.Activation[ACTIVATIONS[spec.activation]],
        layernorm_embedding=spec.embedding_norm,
        relative_attention_bias=spec.positions == "relative",
        ffn_glu=spec.gated,
        rms_norm=spec.norm == "rms",
        head_dim=spec.head_size,
    )
    if spec.positions == "rotary":
        shape |= dict(rotary_dim=0, rotary_interleave=False, rotary_base=spec.rotary_base)
    encoder = specs.TransformerEncoderSpec(spec.encoder_layers, **shape)
    decoder = specs.TransformerDecoderSpec(spec.decoder_layers, **shape)
    return encoder, decoder


def _fill_stack(theirs: Any, stack: Stack | None, embedding: Embedding | None, spec: Spec) -> None:
    stack, embedding = _of(stack), _of(embedding)
    theirs.scale_embeddings = spec.embedding_scale
    if embedding.positions is not None:
        theirs.position_encodings.encodings = _positions(embedding, spec)
    if spec.embedding_norm:
        _fill_norm(theirs.layernorm_embedding, embedding.norm)
    if spec.norm_order == "pre":
        _fill_norm(theirs.layer_norm, stack.norm)
    for their_layer, layer in zip(theirs.layer, stack.layers, strict=True):
        assert isinstance(layer, Layer)
        _fill_layer(their_layer, layer, spec)
        if stack.relative is not None:
            # One table for the stack; the library wants it at each layer and keeps one.
            their_layer.self_attention.relative_attention_bias = _array(stack.relative.weight)
            farthest = np.int32(spec.relative_distance)
            their_layer.self_attention.relative_attention_max_distance = farthest


def _positions(embedding: Embedding, spec: Spec) -> Array:
    table = _of(embedding.positions).table
    if table is not None:
        return _array(table)
    pairs = sinusoids(_rows(spec), spec.d_model)
    return _array(halves(pairs) if spec.positions == "halves" else pairs)


def _fill_layer(theirs: Any, layer: Layer, spec: Spec) -> None:
    _fill_attention(theirs.self_attention, layer.attention, spec, joined=(3,))
    _fill_norm(theirs.self_attention.layer_norm, layer.attention_norm.norm)
    if layer.cross is not None and layer.cross_norm is not None:
        _fill_attention(theirs.attention, layer.cross, spec, joined=(1, 2))
        _fill_norm(theirs.attention.layer_norm, layer.cross_norm.norm)
    ffn = layer.feed_forward
    _fill_linear(theirs.ffn.linear_0, [ffn.inner])
    if ffn.gate is not None:
        _fill_linear(theirs.ffn.linear_0_noact, [ffn.gate])
    _fill_linear(theirs.ffn.linear_1, [ffn.outer])
    _fill_norm(theirs.ffn.layer_norm, layer.feed_forward_norm.norm)


def _fill_attention(
    theirs: Any, attention: MultiHeadAttention, spec: Spec, joined: tuple[int, ...]
) -> None:
    """W_Q, W_K, W_V in `joined` matrices: all three, or queries apart from keys and values."""
    if not spec.score_scale:
        theirs.queries_scale = 1.0
    times = spec.heads // spec.groups
    maps = [attention.query, _repeated(attention.key, times, spec.k)]
    maps.append(_repeated(attention.value, times, spec.k))
    for place, count in enumerate(joined):
        _fill_linear(theirs.linear[place], [maps.pop(0) for _ in range(count)])
    _fill_linear(theirs.linear[-1], [attention.output])


def _repeated(linear: nn.Linear, times: int, size: int) -> nn.Linear:
    """Each head of `size` rows as often as query heads share it."""
    if times == 1:
        return linear
    rows = torch.arange(linear.out_features).view(-1, size).repeat_interleave(times, dim=0)
    repeated = nn.Linear(linear.in_features, rows.numel(), bias=linear.bias is not None)
    with torch.no_grad():
        repeated.weight.copy_(linear.weight[rows.flatten()])
        if linear.bias is not None:
            repeated.bias.copy_(linear.bias[rows.flatten()])
    return repeated


def _fill_linear(theirs: Any, maps: Sequence[nn.Linear]) -> None:
    theirs.weight = np.concatenate([_array(each.weight) for each in maps])
    if maps[0].bias is not None:
        theirs.bias = np.concatenate([_array(each.bias) for each in maps])


def _fill_norm(theirs: Any, norm: nn.Module) -> None:
    weights = dict(norm.named_parameters())
    theirs.gamma = _array(weights["weight"])
    if "bias" in weights:
        theirs.beta = _array(weights["bias"])


def _fill_output(decoder: Any, model: Transformer, never: Sequence[int]) -> None:
    output = _of(model.output)
    decoder.projection.weight = _array(output.weight)
    if never or output.bias is not None:
        none = torch.zeros(model.spec.vocabulary)
        bias = _array(none if output.bias is None else output.bias)
        bias[list(never)] = NEVER
        decoder.projection.bias = bias
    if model.spec.output_scale:
        decoder.scale_outputs = output.scale


def _array(tensor: Tensor) -> Array:
    """A copy: the library's quantisation works in place."""
    array: Array = tensor.detach().to("cpu", torch.float32).numpy().copy()
    return array


def _of(part: "Part | None") -> "Part":
    assert part is not None, "an encoder–decoder model of text has all parts"
    return part
