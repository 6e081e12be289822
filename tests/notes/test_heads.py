"""Several heads (000, 002, 003): concatenated, not added; each with its own view."""

import pytest
import torch

from regard.model.attention import MultiHeadAttention
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace


def traced(attention: MultiHeadAttention, x: torch.Tensor) -> Trace:
    trace = Trace()
    with torch.no_grad():
        attention(x, Mask(), trace=trace)
    return trace


def test_eight_heads_of_64_side_by_side_are_512() -> None:
    # 8 · 64 = 512; added, they would be 64 and W_O could not be 512 × 512.
    attention = MultiHeadAttention(Spec(vocabulary=3))
    trace = traced(attention, torch.randn(1, 3, 512))
    heads, concat = trace["heads"], trace["concat"]
    assert heads.shape == (1, 8, 3, 64) and concat.shape == (1, 3, 512)
    assert torch.equal(concat, torch.cat([heads[:, i] for i in range(8)], dim=-1))
    assert attention.output.weight.shape == (512, 512)


def test_heads_are_not_exchangeable() -> None:
    """A sum would not notice that two heads change places; a concatenation does."""
    attention = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=3))
    x = torch.randn(1, 5, 12)
    before = traced(attention, x)
    with torch.no_grad():
        for linear in (attention.query, attention.key, attention.value):
            for parameter in (linear.weight, linear.bias):
                parts = parameter.clone().chunk(3)
                parameter.copy_(torch.cat([parts[1], parts[0], parts[2]]))
    after = traced(attention, x)
    assert torch.allclose(after["heads"], before["heads"][:, [1, 0, 2]], atol=1e-6)
    assert torch.allclose(after["heads"].sum(1), before["heads"].sum(1), atol=1e-5)
    assert not torch.allclose(after["output"], before["output"], atol=1e-2)


def test_the_output_is_a_sum_over_heads_only_after_each_has_its_own_part_of_w_o() -> None:
    # Concat(h_1 … h_H) W_O = Σ_i h_i W_Oi with W_Oi the rows of W_O that belong to head i.
    attention = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=3))
    trace = traced(attention, torch.randn(1, 5, 12))
    parts = attention.output.weight.detach().T.split(4)  # x W form: 12 rows, 4 for each head
    total = sum((trace["heads"][0, i] @ parts[i] for i in range(3)), attention.output.bias.detach())
    assert torch.allclose(trace["output"][0], total, atol=1e-6)


@pytest.mark.parametrize("head", range(3))
def test_each_head_is_attention_with_its_own_matrices(head: int) -> None:
    """head_i = Attention(Q W_Qi, K W_Ki, V W_Vi): a module with one head gives the same."""
    several = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=3))
    single = MultiHeadAttention(Spec(vocabulary=3, d_model=12, heads=1, head_size=4))
    rows = slice(4 * head, 4 * head + 4)
    with torch.no_grad():
        for name in ("query", "key", "value"):
            mine, theirs = single.get_submodule(name), several.get_submodule(name)
            mine.get_parameter("weight").copy_(theirs.get_parameter("weight")[rows])
            mine.get_parameter("bias").copy_(theirs.get_parameter("bias")[rows])
    x = torch.randn(1, 5, 12)
    assert torch.allclose(
        traced(several, x)["heads"][:, head], traced(single, x)["heads"][:, 0], atol=1e-6
    )
