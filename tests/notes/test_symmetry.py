"""Weights that the plain dot product cannot give (001): a condition nobody had pointed out.

Without W_Q and W_K the score of two words is e_i·e_j = s_ij = s_ji, and w_ij = exp(s_ij)/Z_i. Then

    w12·w23·w31 = exp(s12 + s23 + s31)/(Z1·Z2·Z3) = exp(s21 + s32 + s13)/(Z2·Z3·Z1) = w21·w32·w13

The page derives its weights from such scores, but they break the condition.
"""

import tomllib
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.explain.by_hand.sheet import find_sheet
from regard.model.attention import MultiHeadAttention, attention_scores, attention_weights
from regard.model.masks import Mask
from regard.model.spec import Spec
from regard.model.trace import Trace

MONEY_BANK_GROWS = torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]])
RIVER_BANK_FLOWS = torch.tensor([[0.8, 0.15, 0.05], [0.2, 0.78, 0.02], [0.4, 0.01, 0.59]])


def around(w: Tensor) -> tuple[float, float]:
    """w12·w23·w31 and w21·w32·w13."""
    return float(w[0, 1] * w[1, 2] * w[2, 0]), float(w[1, 0] * w[2, 1] * w[0, 2])


def learned_attention(words: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    """The weights of regard's attention with one head of size 4 and these W_Q, W_K (x W)."""
    attention, trace = MultiHeadAttention(Spec(vocabulary=3, d_model=4, heads=1)), Trace()
    with torch.no_grad():
        for linear, matrix in ((attention.query, w_q), (attention.key, w_k)):
            linear.weight.copy_(matrix.T)
            linear.bias.zero_()
        attention(words[None], Mask(), trace=trace)
    return trace["weights"][0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_attention_without_parameters_obeys_the_condition(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    words = 2 * torch.randn(3, 4, generator=generator, dtype=torch.float64)
    weights = attention_weights(attention_scores(words, words), None)
    one, other = around(weights)
    assert one == pytest.approx(other, rel=1e-9)
    assert not torch.allclose(weights, weights.T, atol=1e-3)  # though w itself is not symmetric


@pytest.mark.parametrize(
    ("weights", "products"),
    [
        # .2·.05·.1 = .001   and   .25·.2·.1 = .005
        (MONEY_BANK_GROWS, (0.001, 0.005)),
        # .15·.02·.4 = .0012   and   .2·.01·.05 = .0001
        (RIVER_BANK_FLOWS, (0.0012, 0.0001)),
    ],
    ids=["money bank grows", "river bank flows"],
)
def test_the_notes_weights_break_it_and_need_w_q_unlike_w_k(
    weights: Tensor, products: tuple[float, float]
) -> None:
    assert around(weights) == pytest.approx(products, rel=1e-5)
    # The words as unit vectors: then row i of W_Q is the query of word i, row j of W_K the key of j
    # With W_Q = 2·log w and W_K = I a score is 2·log w_ij/√4 = log w_ij, and softmax(log w) = w.
    words = torch.eye(4)[:3]
    w_q = torch.zeros(4, 4)
    w_q[:3, :3] = 2 * weights.log()
    got = learned_attention(words, w_q, torch.eye(4))
    assert torch.allclose(got, weights, atol=1e-6)
    assert around(got) == pytest.approx(products, rel=1e-4)


@pytest.mark.parametrize(
    ("sheet", "first", "weights"),
    [
        ("money-bank", (0.2, 0.7, 0.1), MONEY_BANK_GROWS),
        ("river-bank", (0.5, 0.4, 0.1), RIVER_BANK_FLOWS),
    ],
)
def test_bank_is_given_twice_with_other_weights(
    sheet: str, first: tuple[float, ...], weights: Tensor
) -> None:
    # .2 + .7 + .1 = .5 + .4 + .1 = 1, as .25 + .7 + .05 and .2 + .78 + .02: both rows are weights
    second = weights[1]
    assert sum(first) == pytest.approx(1) == float(second.sum())
    assert not torch.allclose(torch.tensor(first), second, atol=0.04)
    written = tomllib.loads(find_sheet(Path(sheet)).read_text(encoding="utf-8"))
    assert written["weights"][1] == pytest.approx(second.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_with_w_q_equal_to_w_k_the_condition_holds_again(seed: int) -> None:
    """x W Wᵀ xᵀ is symmetric: a learned matrix is not enough, the two must differ."""
    generator = torch.Generator().manual_seed(seed)
    words, matrix, another = torch.randn(3, 4, 4, generator=generator)
    one, other = around(learned_attention(words[:3], matrix, matrix))
    assert one == pytest.approx(other, rel=1e-4)
    one, other = around(learned_attention(words[:3], matrix, another))
    assert one != pytest.approx(other, rel=1e-2)
