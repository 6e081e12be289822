"""Attention (section 3.2): scaled dot-product attention, and several heads of it.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
    MultiHead(Q, K, V) = Concat(head_1 … head_h) W_O,   head_i = Attention(Q W_Qi, K W_Ki, V W_Vi)

Two paths compute the same numbers and are tested equal: `explicit_attention` writes out every step
and can be traced; `fused_attention` is torch's kernel, whose memory is linear in the length.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.cache import KeyValues
from regard.model.dropout import dropout
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace


def attention_scores(
    q: Float[Tensor, "*H L K"], k: Float[Tensor, "*H S K"], trace: Trace | None = None
) -> Float[Tensor, "*H L S"]:
    """Q Kᵀ / √d_k: how well each query matches each key.

    A dot product of d_k independent terms has variance d_k; the division keeps it 1, so that the
    softmax does not saturate.
    """
    products = q @ k.transpose(-2, -1)
    if trace:
        trace.record("products", products)
    return products / math.sqrt(q.shape[-1])


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
) -> Float[Tensor, "B H L K"]:
    """softmax(Q Kᵀ / √d_k) V, step by step."""
    allowed = mask.allowed(q.shape[2], k.shape[2], q.device)
    scores = attention_scores(q, k, trace)
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
) -> Float[Tensor, "B H L K"]:
    """The same by torch's kernel, which never holds the (L, S) scores of all heads at once."""
    # is_causal aligns the first query with the first key, so it is only right without a cache.
    square = mask.causal and mask.real is None and q.shape[2] == k.shape[2]
    allowed = None if square else mask.allowed(q.shape[2], k.shape[2], q.device)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=allowed, is_causal=square, dropout_p=dropout_rate
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
        self.query = nn.Linear(spec.d_model, self.heads * self.size)  # W_Q
        self.key = nn.Linear(spec.d_model, self.groups * self.size)  # W_K
        self.value = nn.Linear(spec.d_model, self.groups * self.size)  # W_V
        self.output = nn.Linear(self.heads * self.size, spec.d_model)  # W_O
        self.dropout = spec.attention_dropout

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        mask: Mask,
        memory: Float[Tensor, "B S D"] | None = None,
        cache: KeyValues | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B L D"]:
        q = self._split(self.query(x))
        k, v = self._keys_and_values(x, memory, cache)
        if self.groups != self.heads:  # each key/value head serves several query heads
            k = k.repeat_interleave(self.heads // self.groups, dim=1)
            v = v.repeat_interleave(self.heads // self.groups, dim=1)
        rate = self.dropout if self.training else 0.0
        short = torch.is_grad_enabled() and k.shape[2] <= EXPLICIT_UP_TO
        if trace is not None or short:
            heads = explicit_attention(q, k, v, mask, rate, trace)
        else:
            heads = fused_attention(q, k, v, mask, rate)
        concat = heads.transpose(1, 2).flatten(2)  # (B, L, H·K)
        projected: Tensor = self.output(concat)
        if trace:
            for name, value in {"q": q, "k": k, "v": v, "heads": heads, "concat": concat}.items():
                trace.record(name, value)
            trace.record("output", projected)
        return projected

    def _keys_and_values(
        self, x: Tensor, memory: Tensor | None, cache: KeyValues | None
    ) -> tuple[Tensor, Tensor]:
        if memory is not None and cache is not None and cache.length:
            return cache.all()  # the memory does not change: projected once
        origin = x if memory is None else memory
        k, v = self._split(self.key(origin)), self._split(self.value(origin))
        return (k, v) if cache is None else cache.append(k, v)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, H·K) → (B, H, L, K)"""
        batch, length, _ = x.shape
        return x.view(batch, length, -1, self.size).transpose(1, 2)
