"""Integrated gradients (Sundararajan, Taly and Yan 2017): what each token adds to an answer f.

    IG_i = (e_i - e'_i) · ∫₀¹ ∂f/∂e_i (e' + α (e - e')) dα         i one token, e its row of E

e' is the same text with its words not told: the row of [MASK] in place of every word. The path
leads straight from e' to e. The integral is a sum at n points by the rule of Gauss and Legendre,
which is exact for polynomials of degree 2n - 1.

Completeness: Σ_i IG_i = f(e) - f(e'). So the numbers are shares of the difference that the words
make, and whatever the sum misses is the error of the integral: `Attribution.gap`. The number of
points is doubled until the gap is small.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

FEWEST, MOST = 16, 512  # points on the path
SMALL_GAP = 0.01  # of the difference
SMALLEST = 0.001  # a gap below this shows in no printed number
TOGETHER = 4096  # tokens in one pass

Answerer = Callable[[Float[Tensor, "B L D"]], Float[Tensor, " B"]]  # f of B inputs, each by itself


@dataclass(frozen=True)
class Attribution:
    """What each token adds, and how well the numbers add up."""

    tokens: Float[np.ndarray, " L"]
    value: float  # f(e)
    baseline: float  # f(e')
    steps: int

    @property
    def difference(self) -> float:
        """f(e) - f(e'), what all tokens together should add."""
        return self.value - self.baseline

    @property
    def gap(self) -> float:
        """What the sum of the tokens misses of the difference."""
        return self.difference - float(self.tokens.sum())


def attribute(
    answer: Answerer,
    rows: Float[Tensor, "L D"],
    baseline: Float[Tensor, "L D"],
    steps: int | None = None,
    together: int = TOGETHER,
) -> Attribution:
    """IG of each token; with as many points as asked for, or as many as a small gap needs.

    At most `together` points are computed in one pass.
    """
    with torch.no_grad():
        ends = answer(torch.stack((baseline, rows))).double().tolist()
    count = steps or FEWEST
    while True:
        tokens = integrated(answer, rows, baseline, count, together)
        attribution = Attribution(tokens, ends[1], ends[0], count)
        enough = max(SMALLEST, SMALL_GAP * abs(attribution.difference))
        if steps or abs(attribution.gap) <= enough or count >= MOST:
            return attribution
        count *= 2


def integrated(
    answer: Answerer,
    rows: Float[Tensor, "L D"],
    baseline: Float[Tensor, "L D"],
    steps: int,
    together: int = TOGETHER,
) -> Float[np.ndarray, " L"]:
    """IG of each token by the rule with `steps` points."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    alphas = torch.as_tensor((points + 1) / 2, dtype=rows.dtype, device=rows.device)
    shares = torch.as_tensor(weights / 2, dtype=rows.dtype, device=rows.device)
    change = rows - baseline
    mean = torch.zeros_like(rows)
    size = max(1, min(TOGETHER // len(rows), together))
    for some, share in zip(torch.split(alphas, size), torch.split(shares, size), strict=True):
        path = (baseline + some[:, None, None] * change).requires_grad_()
        with torch.enable_grad():
            (gradients,) = torch.autograd.grad(answer(path).sum(), path)
        mean += (share[:, None, None] * gradients).sum(dim=0)
    tokens: np.ndarray = (change * mean).sum(dim=-1).double().cpu().numpy()
    return tokens
