"""The encoder for many texts laid end to end: no padding, prepared weights; for inference only.

    [CLS] a cat [SEP] [CLS] the dog sat [SEP]        T tokens in one row, lengths (4, 5)

Everything but attention treats each token by itself, so all T are one product whatever the lengths.
Attention takes texts of one length together: whoever sorts by length has few such groups.

What cannot change the result is left out, what is constant is moved to where it costs nothing:

    softmax over keys of q · (k + b_K) = softmax of q · k     q · b_K is the same for every key
    Σ w (v + b_V) W_O + b_O = Σ w v W_O + (b_V W_O + b_O)     because Σ w = 1
    1/√d_k                                                    is multiplied into W_Q and b_Q

The plain modules give the same vectors, and tests compare both (docs/decisions/0009).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.attention import MultiHeadAttention
from regard.model.feed_forward import FeedForward
from regard.model.layer import Layer
from regard.model.spec import Spec
from regard.model.transformer import Transformer


def can_pack(spec: Spec) -> bool:
    """Whether an encoder of this spec can be run so; the others have the plain modules."""
    added = spec.positions in ("sinusoidal", "halves", "learned")
    return bool(spec.encoder_layers and spec.vocabulary and added and spec.groups == spec.heads)


class PackedEncoder:
    """A model's encoder on packed texts; a change of the model's weights needs a new one."""

    def __init__(self, model: Transformer) -> None:
        assert can_pack(model.spec) and model.source_embedding is not None
        assert model.encoder is not None and not model.training
        self._embedding, self._final = model.source_embedding, model.encoder.norm
        self._pre = model.spec.norm_order == "pre"
        self._heads, self._size = model.spec.heads, model.spec.k
        with torch.no_grad():
            self._layers = [_prepared(layer) for layer in model.encoder.layers]

    @torch.inference_mode()
    def __call__(self, ids: Int[Tensor, " T"], lengths: Sequence[int]) -> Float[Tensor, "T D"]:
        """The vector of every token; `lengths` says which tokens are one text."""
        counted = torch.cat([torch.arange(length) for length in lengths]).to(ids.device)
        x = self._embedding(ids[None], positions=counted[None])[0]
        for layer in self._layers:
            x = self._layer(layer, x, lengths)
        vectors: Tensor = self._final(x)
        return vectors

    def _layer(self, layer: "_Prepared", x: Tensor, lengths: Sequence[int]) -> Tensor:
        read = layer.attention_norm(x) if self._pre else x
        heads = self._attention(layer, read, lengths)
        x = _added(x, layer.output_bias, heads, layer.output)
        x = x if self._pre else layer.attention_norm(x)
        read = layer.feed_forward_norm(x) if self._pre else x
        x = _added(x, layer.outer_bias, layer.hidden(read), layer.outer)
        return x if self._pre else layer.feed_forward_norm(x)

    def _attention(self, layer: "_Prepared", x: Tensor, lengths: Sequence[int]) -> Tensor:
        """Concat of the heads, (T, H·K), texts of one length at a time."""
        projected = torch.mm(x, layer.qkv)
        width = self._heads * self._size
        if layer.query_bias is not None:
            projected[:, :width] += layer.query_bias
        heads, start = [], 0
        for length, same in groupby(lengths):
            count = len(list(same))
            rows = projected[start : start + count * length]
            shaped = rows.view(count, length, 3, self._heads, self._size)
            q, k, v = shaped.permute(2, 0, 3, 1, 4)  # (B, H, L, K) each
            seen = F.scaled_dot_product_attention(q, k, v, scale=1.0)
            heads.append(seen.transpose(1, 2).reshape(count * length, width))
            start += count * length
        return heads[0] if len(heads) == 1 else torch.cat(heads)


@dataclass(frozen=True)
class _Prepared:
    """One layer's weights, turned so that x stands left of them."""

    qkv: Tensor  # (D, 3·H·K)
    query_bias: Tensor | None
    output: Tensor  # (H·K, D)
    output_bias: Tensor | None
    attention_norm: nn.Module
    ffn: FeedForward
    feed_forward_norm: nn.Module
    outer: Tensor  # (F, D)
    outer_bias: Tensor | None

    def hidden(self, x: Float[Tensor, "T D"]) -> Float[Tensor, "T F"]:
        """The hidden layer of the feed-forward network."""
        hidden = self.ffn.activation(self.ffn.inner(x))
        return hidden if self.ffn.gate is None else hidden * self.ffn.gate(x)


def _prepared(layer: nn.Module) -> _Prepared:
    assert isinstance(layer, Layer)
    attention, ffn = layer.attention, layer.feed_forward
    return _Prepared(
        *_projections(attention),
        attention_norm=layer.attention_norm.norm,
        ffn=ffn,
        feed_forward_norm=layer.feed_forward_norm.norm,
        outer=ffn.outer.weight.t(),
        outer_bias=ffn.outer.bias,
    )


def _projections(
    attention: MultiHeadAttention,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """W_QKV, b_Q, W_O and b_O with what was moved into them."""
    scale = 1 / math.sqrt(attention.size) if attention.scale else 1.0
    weights = (attention.query.weight * scale, attention.key.weight, attention.value.weight)
    output = attention.output.weight.t()
    query_bias: Tensor | None = None
    output_bias: Tensor | None = attention.output.bias
    if attention.query.bias is not None:
        query_bias = attention.query.bias * scale
        moved = attention.value.bias @ output
        output_bias = moved if output_bias is None else output_bias + moved
    return torch.cat(weights).t().contiguous(), query_bias, output, output_bias


def _added(x: Tensor, bias: Tensor | None, y: Tensor, weight: Tensor) -> Tensor:
    """x + y W + b: the product is added to a sum that is made anyway."""
    base = x.clone() if bias is None else x + bias
    return base.addmm_(y, weight)
