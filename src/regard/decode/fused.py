"""A model's weights, prepared once for decoding: same numbers, fewer and larger products.

W_Q, W_K, W_V of a self-attention become one matrix, W_K and W_V of all cross-attentions another, so
that the memory of a sentence is projected once; 1/√d_k is inside W_Q; each key/value head is
written out for all query heads it serves. Names and formulas are those of `regard.model`, whose
plain path is the reference that tests compare with. A decoder-only model has no memory: what its
prompt leaves to look back at is made in decode/prefill.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.attention import MultiHeadAttention
from regard.model.embedding import Embedding
from regard.model.feed_forward import FeedForward
from regard.model.layer import Layer
from regard.model.masks import additive
from regard.model.relative import RelativeBias
from regard.model.rotary import Rotary, rotated
from regard.model.stack import Stack
from regard.model.transformer import Transformer

BLOCK = 64  # the output matrix is filled up to a multiple of this (decode/best.py)
# Shapes from which on the kernels add in the same order whatever the shape (decode/slots.py)
FEW = 8
STRIDE, LEAST = 4, 16


def rounded(length: int) -> int:
    """The number of places to attend to, the last ones hidden, for `length` that are real."""
    return max(LEAST, -(-length // STRIDE) * STRIDE)


@dataclass(frozen=True)
class Map:
    """x W + b"""

    weight: Float[Tensor, "out in"]
    bias: Float[Tensor, " out"] | None

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


def joined(*maps: Map) -> Map:
    """Several maps of one input as one."""
    biases = [m.bias for m in maps]
    weight = torch.cat([m.weight for m in maps])
    return Map(weight, torch.cat(biases) if biases[0] is not None else None)  # type: ignore[arg-type]


class Attention:
    """One attention: the query's map, that of keys and values, the output's."""

    def __init__(self, layer: MultiHeadAttention, dtype: torch.dtype) -> None:
        self.heads, self.size = layer.heads, layer.size
        scale = 1 / math.sqrt(layer.size) if layer.scale else 1.0
        self.query = _map(layer.query, dtype, scale)
        self.keys_values = joined(
            _map(layer.key, dtype, repeat=(layer.heads // layer.groups, layer.size)),
            _map(layer.value, dtype, repeat=(layer.heads // layer.groups, layer.size)),
        )
        self.output = _map(layer.output, dtype)

    def split(self, x: Float[Tensor, "B L HK"]) -> Float[Tensor, "B H L K"]:
        return x.view(*x.shape[:2], -1, self.size).transpose(1, 2)


def attend(
    q: Float[Tensor, "B H L K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    bias: Float[Tensor, "*M S"],
) -> tuple[Float[Tensor, "B H L K"], Float[Tensor, "B H L S"]]:
    """softmax(Q Kᵀ + bias) V, and the weights; 1/√d_k is in Q already."""
    weights = (q @ k.transpose(-1, -2)).add_(bias).softmax(dim=-1)
    return weights @ v, weights


def attend_both(
    q: Float[Tensor, "B H L K"],
    first: tuple[Tensor, Tensor, Tensor],
    second: tuple[Tensor, Tensor, Tensor],
) -> Float[Tensor, "B H L K"]:
    """The same over keys, values and biases that lie in two places, as if they lay in one."""
    scores = [(q @ k.transpose(-1, -2)).add_(bias) for k, _, bias in (first, second)]
    weights = torch.cat(scores, dim=-1).softmax(dim=-1)
    far, near = torch.split(weights, [each.shape[-1] for each in scores], dim=-1)
    both: Tensor = (far @ first[1]).add_(near @ second[1])
    return both


class FusedLayer:
    """One layer's maps and norms, in the order of the spec."""

    def __init__(self, layer: Layer, dtype: torch.dtype) -> None:
        self.attention = Attention(layer.attention, dtype)
        self.projection = joined(self.attention.query, self.attention.keys_values)
        self.cross = Attention(layer.cross, dtype) if layer.cross is not None else None
        self.feed_forward = _feed_forward(layer.feed_forward, dtype)
        self.norm_first = layer.attention_norm.norm_first
        self.attention_norm = _norm(layer.attention_norm.norm, dtype)
        self.cross_norm = _norm(layer.cross_norm.norm, dtype) if layer.cross_norm else None
        self.feed_forward_norm = _norm(layer.feed_forward_norm.norm, dtype)

    def around(
        self, x: Tensor, norm: Callable[[Tensor], Tensor], part: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Add & norm around a sub-layer."""
        return part(norm(x)).add_(x) if self.norm_first else norm(part(x).add_(x))


class FusedStack:
    """The layers of a stack, its last norm, and what its layers share."""

    def __init__(self, stack: Stack, dtype: torch.dtype) -> None:
        self.layers = [
            FusedLayer(layer, dtype) for layer in stack.layers if isinstance(layer, Layer)
        ]
        self.rotary: Rotary | None = stack.rotary
        self.relative: RelativeBias | None = stack.relative
        self.norm = _norm(stack.norm, dtype)


class FusedModel:
    """A model that puts out tokens, with an encoder or without, ready to decode."""

    def __init__(self, model: Transformer, dtype: torch.dtype | None = None) -> None:
        assert model.decoder is not None and model.target_embedding is not None
        if model.output is None:
            model.token_logits(torch.zeros(0))  # an error that says which head it has instead
        assert model.output is not None
        weight = model.output.weight
        dtype = dtype or weight.dtype
        self.spec, self.dtype, self.device = model.spec, dtype, weight.device
        self.source_embedding, self.patches = model.source_embedding, model.patches
        self.target_embedding = model.target_embedding
        self.encoder = FusedStack(model.encoder, dtype) if model.encoder is not None else None
        self.decoder = FusedStack(model.decoder, dtype)
        crosses = [layer.cross for layer in self.decoder.layers if layer.cross is not None]
        self.memory = joined(*(cross.keys_values for cross in crosses)) if crosses else None
        self._head = model.output
        self._output = _filled_up(model, dtype)

    @property
    def bytes_kept(self) -> int:
        """Of the keys and values of one token, in all layers of the decoder."""
        return 2 * len(self.decoder.layers) * self.spec.heads * self.spec.k * self.dtype.itemsize

    @torch.inference_mode()
    def encode(
        self, source: Shaped[Tensor, "B *_"], real: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "N 2 B H places K"]:
        """Keys and values of every cross-attention for these ids, or pixels of pictures; S places,
        at least FEW."""
        length = max(FEW, real.shape[1])
        more, hides = length - real.shape[1], rounded(length) - length
        assert self.encoder is not None
        x = F.pad(self._looked_at(source), (0, 0, 0, more))
        bias = additive(F.pad(real, (0, more + hides)), self.dtype)[:, None, None]
        stack = self.encoder
        rotation = None
        if stack.rotary is not None:
            rotation = stack.rotary(torch.arange(length, device=source.device)[None])
        if stack.relative is not None:
            bias = bias + F.pad(stack.relative(length, length), (0, hides)).to(self.dtype)
        for layer in stack.layers:

            def look(y: Tensor, layer: FusedLayer = layer) -> Tensor:
                own = layer.attention
                q, k, v = own.split(layer.projection(y)).chunk(3, dim=1)
                if rotation is not None:
                    q, k = rotated(q, rotation), rotated(k, rotation)
                k, v = F.pad(k, (0, 0, 0, hides)), F.pad(v, (0, 0, 0, hides))
                heads, _ = attend(q, k, v, bias)
                return own.output(heads.transpose(1, 2).flatten(2))

            x = layer.around(x, layer.attention_norm, look)
            x = layer.around(x, layer.feed_forward_norm, layer.feed_forward)
        assert self.memory is not None
        projected: Tensor = self.memory(stack.norm(x))
        maps = (len(self.decoder.layers), 2, self.spec.heads, self.spec.k)
        parts = projected.view(len(source), length, *maps)
        return parts.permute(2, 3, 0, 4, 1, 5)

    def _looked_at(self, source: Shaped[Tensor, "B *_"]) -> Float[Tensor, "B S D"]:
        """The encoder's input."""
        if self.patches is not None:
            seen: Tensor = self.patches(source.to(self.patches.map.weight.dtype))
            return seen.to(self.dtype)
        assert self.source_embedding is not None
        return self.embedded(self.source_embedding, source, None)

    def target(
        self, tokens: Int[Tensor, " R"], positions: Int[Tensor, " R"]
    ) -> Float[Tensor, "R D"]:
        """The decoder's input for one token of each row, at the row's own position."""
        return self.embedded(self.target_embedding, tokens[:, None], positions[:, None])[:, 0]

    def logits(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R filled"]:
        """The logits, filled up with -∞ to a multiple of BLOCK."""
        head = self._head
        if head.transform is not None and head.norm is not None:
            x = head.norm(head.activation(head.transform(x.to(head.weight.dtype)))).to(self.dtype)
        logits = self._output(x if head.scale == 1.0 else x * head.scale)
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def embedded(
        self, table: Embedding, ids: Int[Tensor, "B L"], positions: Int[Tensor, "B L"] | None
    ) -> Float[Tensor, "B L D"]:
        """The vectors of ids, in the type of numbers that is computed in."""
        vectors: Tensor = table(ids, positions=positions)
        return vectors.to(self.dtype)


def _map(
    linear: nn.Linear, dtype: torch.dtype, scale: float = 1.0, repeat: tuple[int, int] = (1, 1)
) -> Map:
    """The linear map × `scale`, with each head of `size` rows repeated `times` times."""
    times, size = repeat

    def prepared(x: Tensor) -> Tensor:
        if times > 1:
            heads = x.view(-1, size, *x.shape[1:]).repeat_interleave(times, dim=0)
            x = heads.flatten(0, 1)
        x = x.detach()
        return (x if scale == 1.0 else x * scale).to(dtype)  # the model's own, where it can be

    return Map(prepared(linear.weight), None if linear.bias is None else prepared(linear.bias))


def _norm(norm: nn.Module, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    if isinstance(norm, nn.LayerNorm):
        weight, bias = norm.weight.detach().to(dtype), norm.bias.detach().to(dtype)
        return lambda x: F.layer_norm(x, x.shape[-1:], weight, bias, norm.eps)
    if isinstance(norm, nn.RMSNorm):
        weight = norm.weight.detach().to(dtype)
        return lambda x: F.rms_norm(x, x.shape[-1:], weight, norm.eps)
    return lambda x: x


def _feed_forward(ffn: FeedForward, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    inner, outer = _map(ffn.inner, dtype), _map(ffn.outer, dtype)
    if ffn.gate is None:
        return lambda x: outer(ffn.activation(inner(x)))
    both = joined(inner, _map(ffn.gate, dtype))

    def gated(x: Tensor) -> Tensor:
        hidden, gate = both(x).chunk(2, dim=-1)
        return outer(ffn.activation(hidden) * gate)

    return gated


def _filled_up(model: Transformer, dtype: torch.dtype) -> Map:
    """The output map with rows that never win, so that whole blocks of logits can be compared."""
    assert model.output is not None
    weight, bias = model.output.weight.detach(), model.output.bias
    missing = -len(weight) % BLOCK
    if not missing:
        return Map(weight.to(dtype), None if bias is None else bias.detach().to(dtype))
    shift = weight.new_zeros(len(weight)) if bias is None else bias.detach()
    return Map(
        F.pad(weight, (0, 0, 0, missing)).to(dtype),
        F.pad(shift, (0, missing), value=-torch.inf).to(dtype),
    )
