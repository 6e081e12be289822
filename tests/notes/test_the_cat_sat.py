"""The notes' first worked example (000): scores, ÷ √d_k, softmax, weighted sum.

Every figure is worked out in a comment and compared with what regard's own attention computes.
exp(1) = 2.7183, exp(2) = 7.3891, exp(-1) = 0.3679, exp(-2) = 0.1353.
"""

import math

import pytest
import torch
from torch import Tensor

from regard.model.attention import (
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    explicit_attention,
)
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace

HALF = 5e-5  # half a unit of the fourth place
THE_CAT_SAT = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])


def identity_attention(x: Tensor) -> Trace:
    """One head of size 4 with W_Q = W_K = W_V = W_O = I, traced, over the words x."""
    attention = MultiHeadAttention(Spec(vocabulary=3, d_model=4, heads=1))
    with torch.no_grad():
        for linear in (attention.query, attention.key, attention.value, attention.output):
            linear.weight.copy_(torch.eye(4))
            linear.bias.zero_()
    trace = Trace()
    attention(x[None], Mask(), trace=trace)
    return trace


def test_softmax_of_6_and_4_over_root_4() -> None:
    # A query and two keys of size 4 whose dot products are 6 and 4:
    #   (2,2,1,1)·(1,1,1,1) = 2 + 2 + 1 + 1 = 6,   (2,2,1,1)·(1,0,1,1) = 2 + 0 + 1 + 1 = 4
    # (6, 4)/√4 = (3, 2);  e³/(e³ + e²) = 1/(1 + e⁻¹) = 1/1.3679 = 0.7311,  1 - 0.7311 = 0.2689.
    # The notes round this to (0.75, 0.25).
    query = torch.tensor([[2.0, 2, 1, 1]])
    keys = torch.tensor([[1.0, 1, 1, 1], [1, 0, 1, 1]])
    scores = attention_scores(query, keys)
    assert scores.tolist() == [[3, 2]]
    got = attention_weights(scores, None)[0].tolist()
    assert got == pytest.approx([0.7311, 0.2689], abs=HALF)
    assert got != pytest.approx([0.75, 0.25], abs=0.01)


def test_softmax_of_6_and_4_without_the_root() -> None:
    # 1/(1 + e⁻²) = 1/1.1353 = 0.8808,  1 - 0.8808 = 0.1192: sharper than with the division.
    got = attention_weights(torch.tensor([[6.0, 4]]), None)[0].tolist()
    assert got == pytest.approx([0.8808, 0.1192], abs=HALF)


def test_softmax_of_1_0_1() -> None:
    # e + 1 + e = 6.4366;  2.7183/6.4366 = 0.4223,  1/6.4366 = 0.1554.
    # The first and the last score are equal, so the weights are: not 0.4223 and 0.4221.
    got = attention_weights(torch.tensor([[1.0, 0, 1]]), None)[0].tolist()
    assert got == pytest.approx([0.4223, 0.1554, 0.4223], abs=HALF)
    assert got[0] == got[2]


def test_the_scores() -> None:
    # With W_Q = W_K = I a score is a dot product of two rows of E:
    #   The·The = 1 + 1 = 2      The·cat = 0              The·sat = 1 + 1 = 2
    #   cat·cat = 1 + 1 = 2      cat·sat = 1 + 1 = 2      sat·sat = 1 + 1 + 1 + 1 = 4
    # and each is divided by √4 = 2.
    scores = identity_attention(THE_CAT_SAT)["scores"][0, 0]
    assert (scores * 2).tolist() == [[2, 0, 2], [0, 2, 2], [2, 2, 4]]


def test_the_scores_need_the_second_spelling_of_the() -> None:
    # With (1, 0, 0, 0), as the page has it once, The·The = 1 and The·sat = 1: not the 2 it prints.
    other = THE_CAT_SAT.clone()
    other[0] = torch.tensor([1.0, 0, 0, 0])
    scores = identity_attention(other)["scores"][0, 0]
    assert (scores * 2)[0].tolist() == [1, 0, 1]


def test_the_weights() -> None:
    # The  softmax(1, 0, 1) = (0.4223, 0.1554, 0.4223)
    # cat  softmax(0, 1, 1) = (0.1554, 0.4223, 0.4223)
    # sat  softmax(1, 1, 2): e + e + e² = 12.8257; 2.7183/12.8257 = 0.2119, 7.3891/12.8257 = 0.5761
    expected = [[0.4223, 0.1554, 0.4223], [0.1554, 0.4223, 0.4223], [0.2119, 0.2119, 0.5761]]
    got = identity_attention(THE_CAT_SAT)["weights"][0, 0]
    assert torch.allclose(got, torch.tensor(expected), rtol=0, atol=HALF)


def test_the_outputs() -> None:
    # The  columns 1, 3: 0.4223·1 + 0.1554·0 + 0.4223·1 = 0.8446
    #      columns 2, 4: 0.4223·0 + 0.1554·1 + 0.4223·1 = 0.5777
    # cat  the same with the words' roles exchanged
    # sat  columns 1, 3: 0.2119 + 0.5761 = 0.7881 (0.211942 + 0.576117 = 0.788058), columns 2, 4 too
    expected = [
        [0.8446, 0.5777, 0.8446, 0.5777],
        [0.5777, 0.8446, 0.5777, 0.8446],
        [0.7881, 0.7881, 0.7881, 0.7881],
    ]
    got = identity_attention(THE_CAT_SAT)["output"][0]
    assert torch.allclose(got, torch.tensor(expected), rtol=0, atol=HALF)


def test_the_notes_output_counts_one_weight_three_times() -> None:
    # 1.2669 = 3 · 0.4223. A weighted mean with weights that sum to 1 cannot leave the range of its
    # values (0 to 1 here), so 1.2669 is impossible whatever the scores are.
    weight = float(identity_attention(THE_CAT_SAT)["weights"][0, 0, 0, 0])
    assert 3 * weight == pytest.approx(1.2669, abs=2e-4)
    for scale in (1, 3, 10):
        output = identity_attention(THE_CAT_SAT * scale)["output"][0]
        assert float(output.max()) <= scale * (1 + 1e-6) and float(output.min()) >= 0


def test_the_same_weights_with_the_values_as_printed() -> None:
    # The third value vector is printed as (0, 1, 1, 0) where (1, 1, 1, 1) belongs:
    #   0.4223·(1,0,1,0) + 0.1554·(0,1,0,1) + 0.4223·(0,1,1,0)
    #   = (0.4223, 0.1554 + 0.4223, 0.4223 + 0.4223, 0.1554) = (0.4223, 0.5777, 0.8446, 0.1554)
    words = THE_CAT_SAT[None, None]
    printed = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]])[None, None]
    got = explicit_attention(words, words, printed, Mask())[0, 0, 0].tolist()
    assert got == pytest.approx([0.4223, 0.5777, 0.8446, 0.1554], abs=HALF)


def test_the_output_is_the_weighted_sum_of_the_values() -> None:
    """Σ_j w_j · v_j written as a loop, for sizes that cannot be confused."""
    q, k, v = torch.randn(5, 7), torch.randn(3, 7), torch.randn(3, 7)
    got = explicit_attention(q[None, None], k[None, None], v[None, None], Mask())[0, 0]
    for i in range(5):
        terms = [math.exp(float(q[i] @ k[j]) / math.sqrt(7)) for j in range(3)]
        expected = sum((terms[j] / sum(terms) * v[j] for j in range(3)), torch.zeros(7))
        assert torch.allclose(got[i], expected, atol=1e-6)


def test_without_a_softmax_the_sum_is_no_mean() -> None:
    # 001 mixes words by bare dot products. For The: 2·(1,0,1,0) + 0·(0,1,0,1) + 2·(1,1,1,1)
    # = (4, 2, 4, 2), though no word has a number above 1.
    scores = THE_CAT_SAT @ THE_CAT_SAT.T
    assert (scores @ THE_CAT_SAT)[0].tolist() == [4, 2, 4, 2]
    mixed = attention_weights(attention_scores(THE_CAT_SAT, THE_CAT_SAT), None) @ THE_CAT_SAT
    assert float(mixed.max()) <= 1
