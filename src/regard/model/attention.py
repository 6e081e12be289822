"""Attention (section 3.2): scaled dot-product attention, and several heads of it.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
    MultiHead(Q, K, V) = Concat(head_1 … head_h) W_O,   head_i = Attention(Q W_Qi, K W_Ki, V W_Vi)

Three paths compute the same numbers and are tested equal:

    explicit_attention   every step written out: what is traced, and training on short sequences
                         with attention dropout or a learned bias
    short_attention      the rest of training on short sequences, at most EXPLICIT_UP_TO keys
    fused_attention      torch's kernel, whose memory is linear in the length: everything else
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.cache import KeyValues
from regard.model.dropout import dropout
from regard.model.masks import Mask
from regard.model.rotary import Rotation, rotated
from regard.model.short_attention import short_attention
from regard.model.spec import Spec
from regard.model.trace import Trace


def attention_scores(
    q: Float[Tensor, "*H L K"],
    k: Float[Tensor, "*H S K"],
    trace: Trace | None = None,
    scale: bool = True,
) -> Float[Tensor, "*H L S"]:
    """Q Kᵀ / √d_k: how well each query matches each key.

    A dot product of d_k independent terms has variance d_k; the division keeps it 1, so that the
    softmax does not saturate. A model that was trained without it (`scale=False`) has learned
    smaller weights instead.
    """
    products = q @ k.transpose(-2, -1)
    if trace:
        trace.record("products", products)
    return products / math.sqrt(q.shape[-1]) if scale else products


def masked_scores(
    scores: Float[Tensor, "*H L S"], allowed: Bool[Tensor, "*M S"] | None
) -> Float[Tensor, "*H L S"]:
    """The scores with -∞ where a mask forbids; the scores themselves where there is no mask."""
    return scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)


def attention_weights(
    scores: Float[Tensor, "*H L S"], allowed: Bool[Tensor, "*M S"] | None
) -> Float[Tensor, "*H L S"]:
    """softmax over the keys; where a mask forbids, the score is -∞ and the weight exactly 0."""
    return masked_scores(scores, allowed).softmax(dim=-1)


def explicit_attention(
    q: Float[Tensor, "B H L K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    mask: Mask,
    dropout_rate: float = 0.0,
    trace: Trace | None = None,
    scale: bool = True,
) -> Float[Tensor, "B H L K"]:
    """softmax(Q Kᵀ / √d_k + bias) V, step by step."""
    allowed = mask.allowed(q.shape[2], k.shape[2], q.device)
    scores = attention_scores(q, k, trace, scale)
    if mask.bias is not None:
        if trace:
            trace.record("unbiased", scores)
            trace.record("bias", mask.bias)
        scores = scores + mask.bias
    masked = masked_scores(scores, allowed)
    weights = attention_weights(masked, None)
    if trace:
        trace.record("scores", scores)
        trace.record("masked", masked)
        trace.record("weights", weights)
    return dropout(weights, dropout_rate, training=True) @ v


def fused_attention(
    q: Float[Tensor, "B H L K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    mask: Mask,
    dropout_rate: float = 0.0,
    scale: bool = True,
) -> Float[Tensor, "B H L K"]:
    """The same by torch's kernel, which never holds the (L, S) scores of all heads at once."""
    # is_causal aligns the first query with the first key, so it is only right without a cache.
    plain = mask.real is None and mask.bias is None and mask.documents is None
    square = mask.causal and plain and q.shape[2] == k.shape[2]
    allowed = None if square else mask.allowed(q.shape[2], k.shape[2], q.device)
    if mask.bias is not None:
        bias = mask.bias.expand(len(q), -1, -1, -1)
        allowed = masked_scores(bias, allowed)  # the kernel adds it to the scores
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=allowed,
        is_causal=square,
        dropout_p=dropout_rate,
        scale=None if scale else 1.0,
    )


# On a CPU the kernel's backward pass is slow for short sequences, where the scores are small
# anyway; measured in docs/decisions/0002-training-speed.md.
EXPLICIT_UP_TO = 128


class MultiHeadAttention(nn.Module):
    """W_Q, W_K, W_V, W_O and h heads; self-attention, masked self-attention and cross-attention.

    Without `memory` queries, keys and values all come from x; with it, keys and values come from
    the memory (the encoder's output), as in the decoder's second sub-layer.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.heads, self.groups, self.size = spec.heads, spec.groups, spec.k
        width, bias = self.heads * self.size, spec.attention_bias and spec.qkv_bias
        self.query = nn.Linear(spec.d_model, width, bias=bias)  # W_Q
        self.key = nn.Linear(spec.d_model, self.groups * self.size, bias=bias)  # W_K
        self.value = nn.Linear(spec.d_model, self.groups * self.size, bias=bias)  # W_V
        self.output = nn.Linear(width, spec.d_model, spec.attention_bias and spec.o_bias)  # W_O
        self.scale = spec.score_scale
        self.dropout = spec.attention_dropout
        self.fast = True  # model/kernels.py

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        cache: KeyValues | None = None,
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B L D"]:
        learning = torch.is_grad_enabled() and cache is None and trace is None and self.fast
        if learning:
            q, k, v = self._projected_at_once(x, memory, rotation)
        else:
            q = self._split(self.query(x))
            if rotation is not None:
                if trace:
                    trace.record("unturned_q", q)
                q = rotated(q, rotation)
            k, v = self._keys_and_values(x, memory, cache, rotation, trace)
        if self.groups != self.heads:  # each key/value head serves several query heads
            k = k.repeat_interleave(self.heads // self.groups, dim=1)
            v = v.repeat_interleave(self.heads // self.groups, dim=1)
        rate = self.dropout if self.training else 0.0
        short_with_gradient = torch.is_grad_enabled() and k.shape[2] <= EXPLICIT_UP_TO
        if learning and short_with_gradient and not rate and mask.bias is None:
            heads = short_attention(q, k, v, mask, self.size**-0.5 if self.scale else 1.0)
        elif trace is not None or short_with_gradient:
            heads = explicit_attention(q, k, v, mask, rate, trace, self.scale)
        else:
            heads = fused_attention(q, k, v, mask, rate, self.scale)
        concat = heads.transpose(1, 2).flatten(2)  # (B, L, H·K)
        projected: Tensor = self.output(concat)
        if trace:
            for name, value in {"q": q, "k": k, "v": v, "heads": heads, "concat": concat}.items():
                trace.record(name, value)
            trace.record("output", projected)
        return projected

    def _keys_and_values(
        self,
        x: Tensor,
        memory: Tensor | None,
        cache: KeyValues | None,
        rotation: Rotation | None,
        trace: Trace | None,
    ) -> tuple[Tensor, Tensor]:
        if memory is not None and cache is not None and cache.length:
            return cache.all()  # the memory does not change: projected once
        origin = x if memory is None else memory
        k, v = self._split(self.key(origin)), self._split(self.value(origin))
        if rotation is not None:
            if trace:
                trace.record("unturned_k", k)
            k = rotated(k, rotation)
        return (k, v) if cache is None else cache.append(k, v)

    def _projected_at_once(
        self, x: Tensor, memory: Tensor | None, rotation: Rotation | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V by one product (cross-attention: K and V), which keeps the cores busier."""
        maps = [self.key, self.value] if memory is not None else [self.query, self.key, self.value]
        weight = torch.cat(tuple(m.weight for m in maps))
        biases = tuple(m.bias for m in maps if m.bias is not None)
        bias = torch.cat(biases) if biases else None
        product = F.linear(x if memory is None else memory, weight, bias)
        together = torch.split(product, [m.out_features for m in maps], dim=-1)
        projected = together if memory is None else (self.query(x), *together)
        q, k, v = (self._split(part) for part in projected)
        return (q, k, v) if rotation is None else (rotated(q, rotation), rotated(k, rotation), v)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, H·K) → (B, H, L, K)"""
        batch, length, _ = x.shape
        return x.view(batch, length, -1, self.size).transpose(1, 2)
