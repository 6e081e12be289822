"""Attention with its gradient written out: against autograd, and against finite differences."""

import pytest
import torch

from regard.model.attention import explicit_attention
from regard.model.masks import Mask
from regard.model.short_attention import short_attention

REAL = torch.arange(5)[None] < torch.tensor([[5], [3]])
MASKS = {
    "none": Mask(),
    "causal": Mask(causal=True),
    "padding": Mask(REAL),
    "both": Mask(REAL, causal=True),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("queries", [5, 3])
def test_equals_the_explicit_path(mask: Mask, queries: int) -> None:
    q = torch.randn(2, 3, queries, 4, dtype=torch.float64, requires_grad=True)
    k, v = (torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True) for _ in "kv")
    to_heads = torch.randn(2, 3, queries, 4, dtype=torch.float64)
    results = []
    for heads in (short_attention(q, k, v, mask, 0.5), explicit_attention(q, k, v, mask)):
        results.append((heads, *torch.autograd.grad(heads, (q, k, v), to_heads)))
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(*results, strict=True))


def test_the_gradient_is_that_of_finite_differences() -> None:
    inputs = [torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True) for _ in "qkv"]
    torch.autograd.gradcheck(
        lambda q, k, v: short_attention(q, k, v, Mask(causal=True), 0.7), inputs
    )
