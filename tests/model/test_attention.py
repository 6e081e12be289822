"""The fused path against the explicit one, and both against torch's own multi-head attention.

The numbers that the notes work out by hand are in tests/notes.
"""

import pytest
import torch
from torch.nn import functional as F

from regard.model.attention import (
    MultiHeadAttention,
    explicit_attention,
    fused_attention,
)
from regard.model.cache import KeyValues
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace

MASKS = {
    "none": Mask(),
    "causal": Mask(causal=True),
    "padding": Mask(real=torch.arange(11)[None] < torch.tensor([[11], [5], [1]])),
    "both": Mask(real=torch.arange(11)[None] < torch.tensor([[11], [5], [1]]), causal=True),
}


@pytest.mark.parametrize("queries", [11, 7, 1])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_fused_equals_explicit(mask: str, queries: int) -> None:
    """With fewer queries than keys, as with a cache, the queries are the newest positions."""
    compare_paths(MASKS[mask], queries)


def test_fused_equals_explicit_with_both_masks() -> None:
    compare_paths(MASKS["both"], queries=11)


def compare_paths(mask: Mask, queries: int) -> None:
    q = torch.randn(3, 2, queries, 5, dtype=torch.float64)
    k, v = torch.randn(2, 3, 2, 11, 5, dtype=torch.float64)
    explicit, fused = explicit_attention(q, k, v, mask), fused_attention(q, k, v, mask)
    assert torch.allclose(explicit, fused, atol=1e-12)


def test_explicit_equals_torchs_own_multi_head_attention() -> None:
    """The same weights in nn.MultiheadAttention, written by others."""
    spec = Spec(vocabulary=3, d_model=12, heads=3)
    ours = MultiHeadAttention(spec).double().eval()
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64).eval()
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    x, memory = torch.randn(2, 5, 12).double(), torch.randn(2, 7, 12).double()
    real = torch.arange(7)[None] < torch.tensor([[7], [4]])
    trace = Trace()
    got = ours(x, Mask(real), memory, trace=trace)
    expected, weights = theirs(
        x, memory, memory, key_padding_mask=~real, average_attn_weights=False
    )
    assert torch.allclose(got, expected, atol=1e-12)
    assert torch.allclose(trace["weights"], weights, atol=1e-12)


def test_grouped_keys_serve_several_heads() -> None:
    """With as many copies of each key head, grouped attention is plain attention."""
    grouped = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=4, kv_heads=2)).eval()
    plain = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=4)).eval()
    with torch.no_grad():
        plain.query.load_state_dict(grouped.query.state_dict())
        plain.output.load_state_dict(grouped.output.state_dict())
        for ours, theirs in ((plain.key, grouped.key), (plain.value, grouped.value)):
            ours.weight.copy_(theirs.weight.view(2, 3, 12).repeat_interleave(2, 0).view(12, 12))
            ours.bias.copy_(theirs.bias.view(2, 3).repeat_interleave(2, 0).view(12))
    x = torch.randn(2, 5, 12)
    assert torch.allclose(grouped(x, Mask(causal=True)), plain(x, Mask(causal=True)), atol=1e-6)


def test_attention_dropout_only_while_training() -> None:
    attention = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=3, attention_dropout=0.5))
    x = torch.randn(2, 5, 12)
    attention.train()
    assert not torch.equal(attention(x, Mask()), attention(x, Mask()))
    attention.eval()
    assert torch.equal(attention(x, Mask()), attention(x, Mask()))


def test_memory_is_projected_once_with_a_cache() -> None:
    attention = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=3)).eval()
    cache, memory = KeyValues(), torch.randn(1, 4, 12)
    first = attention(torch.randn(1, 1, 12), Mask(), memory, cache)
    x = torch.randn(1, 1, 12)
    assert first.shape == (1, 1, 12)
    with torch.no_grad():
        attention.key.weight.zero_()  # not used again
    again = attention(x, Mask(), memory, cache)
    k, v = cache.all()
    q = attention.query(x).unflatten(-1, (3, 4)).transpose(1, 2)
    heads = F.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(again, attention.output(heads.transpose(1, 2).flatten(2)), atol=1e-6)
