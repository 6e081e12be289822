"""Positional encoding (001): the hand-computed vectors, distances, and what a rotation says.

    PE(p, 2i) = sin(p·ω_i),  PE(p, 2i+1) = cos(p·ω_i),  ω_i = 10000^(-2i/d_model)

The page prints PE(pos, i) for the sine, where 2i belongs.
"""

import math

import pytest
import torch
from torch import Tensor

from regard.model.positions import Positions, sinusoids
from regard.model.spec import Spec
from regard.model.transformer import Transformer


def frequency(pair: int, d_model: int) -> float:
    """ω_i, written apart from regard's code."""
    return math.exp(-math.log(10_000) * 2 * pair / d_model)


def test_three_positions_for_d_model_6() -> None:
    # ω = 10000^0 = 1,  10000^(-1/3) = 1/21.544 = 0.046416,  10000^(-2/3) = 1/464.16 = 0.0021544
    # PE(0)  sin 0 = 0, cos 0 = 1, three times
    # PE(1)  sin 1 = .8415  cos 1 = .5403   sin .046416 = .0464  cos .046416 = 1 - .0010772 = .9989
    #        sin .0021544 = .0022  cos = 1 - .0000023 = 1.0000
    # PE(2)  sin 2 = .9093  cos 2 = -.4161  sin .092832 = .0927  cos .092832 = 1 - .0043088 = .9957
    #        sin .0043088 = .0043  cos = 1 - .0000093 = 1.0000
    expected = [
        [0, 1, 0, 1, 0, 1],
        [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000],
        [0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000],
    ]
    assert torch.allclose(sinusoids(3, 6), torch.tensor(expected), rtol=0, atol=5e-5)


def test_the_printed_table_of_positions_repeats_and_the_formula_does_not() -> None:
    # 000 prints (1, 0), (0, 1), (1, 0), (0, 1) for positions 1 to 4, and then the formula, which
    # for d_model 2 has ω_0 = 1: (sin 1, cos 1) = (.8415, .5403), (sin 3, cos 3) = (.1411, -.9900)
    printed = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0, 1]])
    assert torch.equal(printed[0], printed[2]) and torch.equal(printed[1], printed[3])
    formula = sinusoids(5, 2)[1:]
    expected = torch.tensor([[0.8415, 0.5403], [0.1411, -0.9900]])
    assert torch.allclose(formula[[0, 2]], expected, rtol=0, atol=5e-5)
    assert float(torch.pdist(formula).min()) > 0.9  # neighbours on a circle: 2 sin ½ = .959


def test_the_index_of_the_sine_is_2i() -> None:
    # Were the sine's index i, sin(p·ω_1) would stand in dimension 1, where cos(p·ω_0) belongs.
    # Were the exponent i/d instead of 2i/d, dimension 2 would hold sin(10000^(-1/6)) = sin .2154.
    first = sinusoids(2, 6)[1]
    assert float(first[1]) == pytest.approx(math.cos(1), abs=1e-6)
    assert float(first[2]) == pytest.approx(math.sin(0.0464159), abs=1e-6)
    assert float(first[2]) != pytest.approx(math.sin(0.2154), abs=0.1)


@pytest.mark.parametrize(
    ("distance", "product"), [(0, 64), (1, 62.0937), (2, 57.3819), (5, 47.1850)]
)
def test_the_product_depends_on_the_distance_only(distance: int, product: float) -> None:
    # A pair adds sin a sin b + cos a cos b = cos(a - b) with a - b = k·ω_i: p drops out.
    # d_model 128 has 64 pairs, so k = 0 gives 64·cos 0 = 64, and k gives Σ_i cos(k·ω_i):
    by_hand = sum(math.cos(distance * frequency(i, 128)) for i in range(64))
    assert by_hand == pytest.approx(product, abs=5e-5)
    pe = sinusoids(70, 128).double()
    for p in (0, 7, 40, 63):
        assert float(pe[p] @ pe[p + distance]) == pytest.approx(product, abs=1e-4)


def test_how_much_the_first_and_the_last_dimension_move_over_50_words() -> None:
    # Dimension 0 is sin p, p = 0 … 49.
    #   mean    sin 25 · sin 24.5 / (50 · sin .5) = (-.13235)(-.59136)/23.9713 = .003265
    #   mean²   ½ - sin 50 · cos 49 / (100 · sin 1) = ½ + .078868/84.147 = .500937
    #   √(.500937 - .003265²) = 0.7078
    # Dimension 127 is cos(p·ω), ω = 10000^(-126/128) = 1.15478e-4; cos x = 1 - x²/2 for small x, so
    # its deviation is ω²/2 times that of p²:
    #   mean p² = 49·99/6 = 808.5;  mean p⁴ = 49·99·(3·49² + 3·49 - 1)/30 = 1,188,333.3
    #   √(1,188,333.3 - 808.5²) = 731.2;  731.2 · 1.33352e-8/2 = 4.875e-6
    pe = sinusoids(50, 128).double()
    assert float(pe[:, 0].std(unbiased=False)) == pytest.approx(0.7078, abs=5e-5)
    assert float(pe[:, 127].std(unbiased=False)) == pytest.approx(4.875e-6, abs=5e-8)


def test_one_sine_is_not_enough() -> None:
    # sin 8 = .98936 and sin 14 = .99061: .0012 apart. But cos 8 = -.1455 and cos 14 = .1367, so two
    # dimensions already tell the two positions apart: √(.0012² + .2822²) = .2822.
    pe = sinusoids(15, 128)
    assert abs(float(pe[8, 0] - pe[14, 0])) == pytest.approx(0.0012, abs=1e-4)
    assert float((pe[8, :2] - pe[14, :2]).norm()) == pytest.approx(0.2822, abs=1e-4)


def test_no_two_of_a_thousand_positions_are_alike() -> None:
    pe = sinusoids(1000, 128).double()
    apart = torch.cdist(pe, pe) + 10 * torch.eye(1000)
    # The nearest are neighbours: |PE(p) - PE(p+1)|² = 2·64 - 2·62.0937 = 3.8126, root 1.9526.
    assert float(apart.min()) == pytest.approx(1.9526, abs=1e-3)


def rotation(distance: int, d_model: int) -> Tensor:
    """R_k: in the plane of each pair (sin, cos), a turn by k·ω_i.

    sin(a + φ) =  cos φ · sin a + sin φ · cos a
    cos(a + φ) = -sin φ · sin a + cos φ · cos a
    """
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        turn = distance * frequency(i, d_model)
        sin, cos = math.sin(turn), math.cos(turn)
        block = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return matrix


@pytest.mark.parametrize("d_model", [6, 128])
@pytest.mark.parametrize("distance", [1, 2, 5, 37, -3])
def test_k_words_further_is_a_rotation_that_does_not_know_p(distance: int, d_model: int) -> None:
    matrix = rotation(distance, d_model)
    identity = torch.eye(d_model, dtype=torch.float64)
    assert torch.allclose(matrix @ matrix.T, identity, atol=1e-12)  # it is a rotation
    pe = sinusoids(400, d_model).double()
    for p in (3, 11, 250):
        assert torch.allclose(matrix @ pe[p], pe[p + distance], atol=1e-6)


def test_sinusoids_are_fixed_and_a_learned_table_is_not() -> None:
    """003 calls the pattern learned; in the sinusoidal scheme there is nothing to learn."""
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 5, 6]])
    for scheme, moves in (("sinusoidal", False), ("learned", True)):
        spec = Spec(11, 8, 1, 1, 2, ffn_size=9, positions=scheme, max_length=9, dropout=0.0)
        model = Transformer(spec)
        assert any("positions" in name for name, _ in model.named_parameters()) == moves
        assert any("positions" in name for name in model.state_dict()) == moves
        assert model.source_embedding is not None
        positions = model.source_embedding.positions
        before = positions(5).detach().clone()
        model(source, target).square().sum().backward()
        with torch.no_grad():  # one step of gradient descent
            for parameter in model.parameters():
                parameter -= parameter.grad
        assert torch.equal(positions(5), before) != moves


def test_both_sides_and_all_lengths_get_the_same_vectors() -> None:
    positions = Positions(Spec(vocabulary=5, d_model=6, heads=2))
    assert torch.equal(positions(3), sinusoids(3, 6))
    assert torch.equal(positions(1, start=2), sinusoids(3, 6)[2:])
