"""Attention against numbers worked out by hand, and the fused path against the explicit one."""

import math

import pytest
import torch
from torch.nn import functional as F

from regard.model.attention import (
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    explicit_attention,
    fused_attention,
)
from regard.model.cache import KeyValues
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace

# The notes' sheet: The, cat, sat with embedding size 4 and W_Q = W_K = W_V = I.
SHEET = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])


def test_softmax_of_6_and_4_over_root_4() -> None:
    scores = torch.tensor([[6.0, 4.0]]) / math.sqrt(4)
    assert attention_weights(scores, None)[0].tolist() == pytest.approx([0.7311, 0.2689], abs=5e-5)
    unscaled = attention_weights(torch.tensor([[6.0, 4.0]]), None)
    assert unscaled[0].tolist() == pytest.approx([0.8808, 0.1192], abs=5e-5)


def test_softmax_of_1_0_1() -> None:
    weights = attention_weights(torch.tensor([[1.0, 0, 1]]), None)
    assert weights[0].tolist() == pytest.approx([0.4223, 0.1554, 0.4223], abs=5e-5)


def test_the_cat_sat() -> None:
    trace = Trace()
    q = SHEET[None, None]
    output = explicit_attention(q, q, q, Mask(), trace=trace)[0, 0]
    raw = trace["scores"][0, 0] * 2  # before ÷ √4
    assert raw.tolist() == [[2, 0, 2], [0, 2, 2], [2, 2, 4]]
    weights = [[0.4223, 0.1554, 0.4223], [0.1554, 0.4223, 0.4223], [0.2119, 0.2119, 0.5761]]
    assert torch.allclose(trace["weights"][0, 0], torch.tensor(weights), atol=6e-5)
    expected = [
        [0.8446, 0.5777, 0.8446, 0.5777],
        [0.5777, 0.8446, 0.5777, 0.8446],
        [0.7881, 0.7881, 0.7881, 0.7881],
    ]
    assert torch.allclose(output, torch.tensor(expected), atol=6e-5)


def test_the_same_weights_with_the_values_as_printed() -> None:
    weights = attention_weights(attention_scores(SHEET, SHEET), None)
    printed = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]])
    got = (weights @ printed)[0].tolist()
    assert got == pytest.approx([0.4223, 0.5777, 0.8446, 0.1554], abs=6e-5)


def test_masked_weights_of_the_notes_decoder() -> None:
    """Weights (.8 .1 .1 / .15 .75 .1 / .1 .2 .7) with the look-ahead mask."""
    scores = torch.tensor([[0.8, 0.1, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]]).log()
    allowed = Mask(causal=True).allowed(3, 3, torch.device("cpu"))
    assert allowed is not None
    got = attention_weights(scores, allowed[0, 0])
    expected = torch.tensor([[1, 0, 0], [0.1667, 0.8333, 0], [0.1, 0.2, 0.7]])
    assert torch.allclose(got, expected, atol=5e-5)
    assert got[0, 1] == got[0, 2] == got[1, 2] == 0  # exactly


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


def test_eight_heads_of_64_concatenate_to_512() -> None:
    attention, trace = MultiHeadAttention(Spec(vocabulary=3)), Trace()
    attention(torch.randn(1, 3, 512), Mask(), trace=trace)
    assert trace["heads"].shape == (1, 8, 3, 64)
    assert trace["concat"].shape == (1, 3, 512)
    assert attention.query.weight.shape == attention.output.weight.shape == (512, 512)


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
