"""The two-step maximum and log-sum-exp against torch's own."""

import pytest
import torch
from torch import Tensor

from regard.decode.best import best, log_sum_exp, top

SIZES = [64, 128, 8000]  # of which the last is 125 blocks


def logits(kind: str, size: int) -> Tensor:
    x = 5 * torch.randn(9, size, generator=torch.Generator().manual_seed(size))
    if kind == "tied":
        return x.round()
    if kind == "holes":  # what rules and options leave
        return x.masked_fill(torch.rand(x.shape, generator=torch.Generator()) < 0.9, -torch.inf)
    if kind == "filled up":  # a vocabulary that is no multiple of 64
        x[:, -37:] = -torch.inf
    return x


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["random", "tied", "holes", "filled up"])
def test_the_largest(kind: str, size: int) -> None:
    x = logits(kind, size)
    values, where = best(x)
    assert torch.equal(values, x.max(dim=-1).values)
    assert torch.equal(x.gather(1, where[:, None])[:, 0], values)
    if kind != "tied":
        assert torch.equal(where, x.argmax(dim=-1))
    assert torch.equal(best(x[3:4])[1], where[3:4])  # neighbours do not decide between equals


@pytest.mark.parametrize("count", [1, 2, 8, 20])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["random", "tied", "holes", "filled up"])
def test_the_largest_few(kind: str, size: int, count: int) -> None:
    x = logits(kind, size)
    values, where = top(x, count)
    assert torch.equal(values, x.topk(count, dim=-1).values)
    assert torch.equal(x.gather(1, where), values)
    assert all(len(set(row)) == count for row in where.tolist())
    if kind == "random":
        assert torch.equal(where, x.topk(count, dim=-1).indices)
    assert torch.equal(top(x[3:4], count)[1], where[3:4])


def test_all_of_them_if_there_are_no_more() -> None:
    x = logits("random", 64)
    values, where = top(x, 500)
    assert torch.equal(values, x.sort(dim=-1, descending=True).values)
    assert torch.equal(x.gather(1, where), values)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["random", "tied", "holes", "filled up"])
def test_log_sum_exp(kind: str, size: int) -> None:
    for x in (logits(kind, size), 200 * logits(kind, size)):  # exp of the second overflows
        kept = x.clone()
        assert torch.allclose(log_sum_exp(x), torch.logsumexp(x, dim=-1), rtol=1e-6, atol=1e-6)
        assert torch.equal(x, kept)
    double = logits(kind, size).double()
    assert torch.allclose(log_sum_exp(double), torch.logsumexp(double, dim=-1), atol=1e-12)


def test_log_sum_exp_of_nothing() -> None:
    x = torch.full((2, 64), -torch.inf)
    x[1, 5] = 3.0
    assert torch.equal(log_sum_exp(x), torch.tensor([-torch.inf, 3.0]))
