"""Why ÷ √d_k (000, 001, 002): the variance of dot products, and what large scores do to gradients.

000 says that large scores explode gradients, 002 that softmax saturates and they vanish. Measured
here: they vanish.
"""

import math

import pytest
import torch
from torch import Tensor

from regard.model.attention import attention_scores, attention_weights

SAMPLES = 20_000


def independent_scores(size: int) -> Tensor:
    """Scores of independent queries and keys with entries of variance 1, as regard scales them."""
    generator = torch.Generator().manual_seed(size)
    q, k = torch.randn(2, SAMPLES, 1, size, generator=generator)
    return attention_scores(q, k).flatten()


@pytest.mark.parametrize("size", [1, 2, 3, 64, 512])
def test_the_variance_of_a_dot_product_is_its_number_of_terms(size: int) -> None:
    # Var(q_1 k_1) = E[q²]·E[k²] = 1, and d independent terms add up: Var(q·k) = d. Divided by √d it
    # is 1 again. An estimate from n samples errs by √((κ - 1)/n), κ = 3 + 6/d the kurtosis of the
    # sum (9 for one product of two normals): √(8/20000) = 2 % at most; five times that is allowed.
    scores = independent_scores(size)
    unscaled = scores * math.sqrt(size)
    allowed = 5 * math.sqrt((2 + 6 / size) / SAMPLES)
    assert float(unscaled.var()) == pytest.approx(size, rel=allowed)
    assert float(scores.var()) == pytest.approx(1, rel=allowed)
    assert abs(float(scores.mean())) < 5 / math.sqrt(SAMPLES)


def slope(first: float, second: float) -> float:
    """∂w_1/∂s_1 at two scores, by autograd through regard's softmax."""
    scores = torch.tensor([[first, second]], dtype=torch.float64, requires_grad=True)
    attention_weights(scores, None)[0, 0].backward()
    assert scores.grad is not None
    return float(scores.grad[0, 0])


def test_the_slope_of_two_weights() -> None:
    # ∂w_1/∂s_1 = w_1·(1 - w_1).
    # equal scores      ½·½ = ¼, the largest there is: a softmax never explodes
    # (3, 2), scaled    .7311·.2689 = .1966
    # (6, 4), unscaled  .8808·.1192 = .1050: half as much
    # (30, 20)          1/(1 + e^-10) = .9999546;  .9999546 · 4.5398e-5 = 4.5396e-5: almost gone
    assert slope(5, 5) == pytest.approx(0.25)
    assert slope(3, 2) == pytest.approx(0.1966, abs=5e-5)
    assert slope(6, 4) == pytest.approx(0.1050, abs=5e-5)
    assert slope(30, 20) == pytest.approx(4.5396e-5, rel=1e-4)


def mean_slope(size: int, scaled: bool) -> float:
    """Mean |∂w_i/∂s_j| over 200 random queries with 10 keys each."""
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(200, 1, size, generator=generator)
    k = torch.randn(200, 10, size, generator=generator)
    if not scaled:
        q = q * math.sqrt(size)  # takes the division back
    w = attention_weights(attention_scores(q, k), None)[:, 0]
    jacobian = torch.diag_embed(w) - w[:, :, None] * w[:, None, :]  # ∂w_i/∂s_j = w_i([i=j] - w_j)
    return float(jacobian.abs().mean())


def test_large_scores_make_gradients_vanish_not_explode() -> None:
    scaled = [mean_slope(size, scaled=True) for size in (4, 64, 1024)]
    unscaled = [mean_slope(size, scaled=False) for size in (4, 64, 1024)]
    assert max(scaled) / min(scaled) < 1.3  # the size does not matter
    assert unscaled[0] > 2 * unscaled[1] > 4 * unscaled[2]  # the larger the head, the less is left
    assert scaled[2] > 5 * unscaled[2]
    assert max(scaled + unscaled) <= 0.25


def test_the_jacobian_is_what_autograd_gives() -> None:
    """The formula used above, against torch's derivative of regard's function."""
    scores = torch.randn(1, 5, dtype=torch.float64)
    w = attention_weights(scores, None)[0]
    got = torch.autograd.functional.jacobian(lambda s: attention_weights(s, None)[0], scores)[:, 0]
    assert torch.allclose(got, torch.diag(w) - torch.outer(w, w), atol=1e-12)
