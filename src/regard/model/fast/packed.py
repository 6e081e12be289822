"""The encoder for many texts laid end to end: no padding, prepared weights; for inference only.

    [CLS] a cat [SEP] [CLS] the dog sat [SEP]        T tokens in one row, lengths (4, 5)

Everything but attention treats each token by itself, so all T are one product whatever the lengths.
Attention takes texts of one length together: whoever sorts by length has few such groups.

What cannot change the result is left out, what is constant is moved to where it costs nothing:

    softmax over keys of q · (k + b_K) = softmax of q · k     q · b_K is the same for every key
    Σ w (v + b_V) W_O + b_O = Σ w v W_O + (b_V W_O + b_O)     because Σ w = 1
    1/√d_k                                                    is multiplied into W_Q and b_Q

The plain modules give the same vectors, and tests compare both (docs/decisions/0009).

    fp32     the reference
    int16    products in integers (int16.py): vectors differ by some 0.05 % of their length
    bf16     products and attention in bf16, sums and norms in fp32: some 0.5 %; for processors that
             multiply faster so
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.attention import MultiHeadAttention
from regard.model.fast.int16 import MULTIPLE, Int16Weight, is_offered
from regard.model.layer import Layer
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.processor.simulate import dies_as_simulated


def precisions(spec: Spec) -> tuple[str, ...]:
    """What can be asked for, on this machine and with this model's sizes."""
    sizes = (spec.d_model, spec.heads * spec.k, spec.ffn_size)
    whole = is_offered() and all(size % MULTIPLE == 0 for size in sizes)
    return ("fp32", "bf16", "int16") if whole else ("fp32", "bf16")


def can_pack(spec: Spec) -> bool:
    """Whether an encoder of this spec can be run so; the others have the plain modules."""
    added = spec.positions in ("sinusoidal", "halves", "learned")
    return bool(spec.encoder_layers and spec.vocabulary and added and spec.groups == spec.heads)


class PackedEncoder:
    """A model's encoder on packed texts; a change of the model's weights needs a new one."""

    def __init__(self, model: Transformer, precision: str = "fp32") -> None:
        assert can_pack(model.spec) and model.source_embedding is not None
        assert model.encoder is not None and not model.training
        self._embedding, self._final = model.source_embedding, model.encoder.norm
        self._pre = model.spec.norm_order == "pre"
        self._heads, self._size = model.spec.heads, model.spec.k
        with torch.no_grad():
            kind = WEIGHTS[precision]
            self._layers = [_prepared(layer, kind) for layer in model.encoder.layers]

    @torch.inference_mode()
    def __call__(self, ids: Int[Tensor, " T"], lengths: Sequence[int]) -> Float[Tensor, "T D"]:
        """The vector of every token; `lengths` says which tokens are one text."""
        counted = torch.cat([torch.arange(length) for length in lengths]).to(ids.device)
        x = self._embedding(ids[None], positions=counted[None])[0]
        with dies_as_simulated():
            for layer in self._layers:
                x = self._layer(layer, x, lengths)
        vectors: Tensor = self._final(x)
        return vectors

    def _layer(self, layer: "_Prepared", x: Tensor, lengths: Sequence[int]) -> Tensor:
        read = layer.attention_norm(x) if self._pre else x
        heads = self._attention(layer, read, lengths)
        x = layer.output.product(heads, layer.output_bias, x)
        x = x if self._pre else layer.attention_norm(x)
        read = layer.feed_forward_norm(x) if self._pre else x
        x = layer.outer.product(layer.hidden(read), layer.outer_bias, x)
        return x if self._pre else layer.feed_forward_norm(x)

    def _attention(self, layer: "_Prepared", x: Tensor, lengths: Sequence[int]) -> Tensor:
        """Concat of the heads, (T, H·K), texts of one length at a time."""
        projected = layer.qkv.product(x, layer.qkv_bias)
        width = self._heads * self._size
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


class FloatWeight:
    """Products as torch computes them, in the precision of the given matrix."""

    def __init__(self, weight: Float[Tensor, "K N"]) -> None:
        self._weight = weight

    def product(
        self,
        x: Float[Tensor, "T K"],
        bias: Float[Tensor, " N"] | None = None,
        base: Float[Tensor, "T N"] | None = None,
    ) -> Float[Tensor, "T N"]:
        """x W + b + base; base stays in fp32, and the product is added to a sum that is new."""
        weight, x = self._weight, x.to(self._weight.dtype)
        if base is None:
            return x @ weight if bias is None else torch.addmm(bias.to(x.dtype), x, weight)
        total = base.clone() if bias is None else base + bias
        return total.addmm_(x, weight) if x.dtype == total.dtype else total.add_(x @ weight)


Weight = FloatWeight | Int16Weight
WEIGHTS: dict[str, Callable[[Tensor], Weight]] = {
    "fp32": FloatWeight,
    "bf16": lambda weight: FloatWeight(weight.bfloat16()),
    "int16": Int16Weight,
}


@dataclass(frozen=True)
class _Prepared:
    """One layer."""

    qkv: Weight  # (D, 3·H·K)
    qkv_bias: Tensor | None
    output: Weight  # (H·K, D)
    output_bias: Tensor | None
    attention_norm: nn.Module
    inner: Weight  # (D, F)
    inner_bias: Tensor | None
    gate: Weight | None
    gate_bias: Tensor | None
    activation: Callable[[Tensor], Tensor]
    outer: Weight  # (F, D)
    outer_bias: Tensor | None
    feed_forward_norm: nn.Module

    def hidden(self, x: Float[Tensor, "T D"]) -> Float[Tensor, "T F"]:
        """The hidden layer of the feed-forward network."""
        hidden = self.activation(self.inner.product(x, self.inner_bias))
        return hidden if self.gate is None else hidden * self.gate.product(x, self.gate_bias)


def _prepared(layer: nn.Module, kind: Callable[[Tensor], Weight]) -> _Prepared:
    assert isinstance(layer, Layer)
    ffn = layer.feed_forward
    qkv, qkv_bias, output, output_bias = _projections(layer.attention)
    return _Prepared(
        kind(qkv),
        qkv_bias,
        kind(output),
        output_bias,
        layer.attention_norm.norm,
        kind(ffn.inner.weight.t()),
        ffn.inner.bias,
        None if ffn.gate is None else kind(ffn.gate.weight.t()),
        None if ffn.gate is None else ffn.gate.bias,
        ffn.activation,
        kind(ffn.outer.weight.t()),
        ffn.outer.bias,
        layer.feed_forward_norm.norm,
    )


def _projections(
    attention: MultiHeadAttention,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """W_QKV, its bias, W_O and b_O with what was moved into them."""
    scale = 1 / math.sqrt(attention.size) if attention.scale else 1.0
    weights = (attention.query.weight * scale, attention.key.weight, attention.value.weight)
    output = attention.output.weight.t()
    qkv_bias: Tensor | None = None
    output_bias: Tensor | None = attention.output.bias
    if attention.query.bias is not None:
        query_bias = attention.query.bias * scale
        qkv_bias = torch.cat((query_bias, query_bias.new_zeros(2 * len(query_bias))))
        moved = attention.value.bias @ output
        output_bias = moved if output_bias is None else output_bias + moved
    return torch.cat(weights).t().contiguous(), qkv_bias, output, output_bias
