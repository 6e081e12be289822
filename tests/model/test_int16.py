"""Products in integers against those in double precision, and sums at the edge of what fits."""

import pytest
import torch

from regard.model.fast.int16 import LARGEST, LENGTH, Int16Weight, is_offered

pytestmark = pytest.mark.skipif(
    not is_offered(), reason="int16 needs AVX2 without AVX-512, and llvmlite"
)


@pytest.mark.parametrize("shape", [(1, 16, 16), (7, 48, 32), (193, 384, 80), (6, 1536, 16)])
def test_a_product_to_four_digits(shape: tuple[int, int, int]) -> None:
    rows, inner, outer = shape
    x = torch.randn(rows, inner) * torch.logspace(-6, 6, rows)[:, None]  # each row by itself
    w = torch.randn(inner, outer) * torch.logspace(-3, 3, outer)
    exact = x.double() @ w.double()
    found = Int16Weight(w).product(x)
    assert found.shape == (rows, outer) and found.dtype == torch.float32
    sizes = x.double().norm(dim=1)[:, None] * w.double().norm(dim=0)
    assert ((found - exact).abs() / sizes).max() < 1e-4
    off = (found - exact).norm(dim=1) / exact.norm(dim=1)
    assert off.max() < 2e-3


def test_small_whole_numbers_are_exact_to_float() -> None:
    """Rows and columns with one number each: 3 · 5, in any place."""
    x, w = torch.zeros(16, 16), torch.eye(16) * 5
    x[range(16), range(16)] = torch.arange(16.0) - 3
    assert torch.allclose(Int16Weight(w).product(x), x * 5, rtol=1e-4, atol=0)


def test_bias_and_base_are_added() -> None:
    x, w, bias, base = (torch.randn(*s) for s in ((13, 32), (32, 48), (48,), (13, 48)))
    weight = Int16Weight(w)
    plain = weight.product(x)
    assert torch.allclose(weight.product(x, bias), plain + bias, atol=1e-5)
    kept = base.clone()
    assert torch.allclose(weight.product(x, bias, base), plain + bias + base, atol=1e-5)
    assert torch.equal(base, kept)  # what is given is not written to


def test_no_sum_overflows() -> None:
    """The largest sums there are: rows and columns that point the same way."""
    for inner in (16, 384, 4096):
        for row in (torch.ones(inner), torch.randn(inner), torch.tensor([1.0] + [0] * (inner - 1))):
            x, w = torch.stack((row, -row)), row[:, None].expand(-1, 16).contiguous()
            exact = float(row.double() @ row.double())
            found = Int16Weight(w).product(x)
            assert found[0].tolist() == pytest.approx([exact] * 16, rel=1e-3)
            assert found[1].tolist() == pytest.approx([-exact] * 16, rel=1e-3)
    assert (LENGTH + 0.5 * 4096**0.5) ** 2 < 2**31 and LARGEST == 2**15 - 1


def test_zeros_stay_zero() -> None:
    x, w = torch.randn(5, 32), torch.randn(32, 16)
    x[2], w[:, 3] = 0, 0
    found = Int16Weight(w).product(x)
    assert (found[2] == 0).all() and (found[:, 3] == 0).all() and found.isfinite().all()
    assert Int16Weight(w).product(x[:0]).shape == (0, 16)
