"""Layer norm and batch norm of the notes' table (001), and why padding spoils the second.

       z1 z2 z3
    s1  7  5  4        layer norm: along a row, one word by itself
    s2  2  3  4        batch norm: down a column, all words of the batch together
    s3  1  2  3
    s4  7  5  6
    s5  3  3  4

regard has no batch norm; torch's stands for it. ε is set so small that it does not show.
"""

import pytest
import torch
from torch import nn

from regard.model.add_and_norm import AddAndNorm, make_norm
from regard.model.spec import Spec

TABLE = torch.tensor([[7.0, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]])
HALF = 5e-5


def layer_norm() -> nn.Module:
    return make_norm(Spec(3, d_model=3, heads=1, positions="learned", norm_epsilon=1e-12))


def batch_norm() -> nn.Module:
    return nn.BatchNorm1d(3, eps=1e-12).train()


def test_layer_norm_of_the_table() -> None:
    # s1 (7, 5, 4): mean 16/3 = 5.3333, differences 1.6667, -.3333, -1.3333;
    #    variance (2.7778 + .1111 + 1.7778)/3 = 1.5556, root 1.2472;  1.6667/1.2472 = 1.3363,
    #    -.3333/1.2472 = -.2673, -1.3333/1.2472 = -1.0690
    # s2 (2, 3, 4), s3 (1, 2, 3): differences -1, 0, 1; variance 2/3, root .8165; 1/.8165 = 1.2247
    # s4 (7, 5, 6): differences 1, -1, 0; the same root
    # s5 (3, 3, 4): mean 3.3333, differences -.3333, -.3333, .6667;
    #    variance (.1111 + .1111 + .4444)/3 = .2222, root .4714;  -.3333/.4714 = -.7071,
    #    .6667/.4714 = 1.4142
    expected = [
        [1.3363, -0.2673, -1.0690],
        [-1.2247, 0, 1.2247],
        [-1.2247, 0, 1.2247],
        [1.2247, -1.2247, 0],
        [-0.7071, -0.7071, 1.4142],
    ]
    assert torch.allclose(layer_norm()(TABLE), torch.tensor(expected), rtol=0, atol=HALF)


def test_batch_norm_of_z1() -> None:
    # z1 = (7, 2, 1, 7, 3): mean 20/5 = 4, differences 3, -2, -3, 3, -1;
    # variance (9 + 4 + 9 + 9 + 1)/5 = 6.4, root 2.5298;
    # 3/2.5298 = 1.1859, -2/2.5298 = -.7906, -1/2.5298 = -.3953
    expected = torch.tensor([1.1859, -0.7906, -1.1859, 1.1859, -0.3953])
    assert torch.allclose(batch_norm()(TABLE)[:, 0], expected, rtol=0, atol=HALF)
    # and what regard uses is not this
    assert not torch.allclose(layer_norm()(TABLE)[:, 0], expected, atol=0.1)


def test_padding_moves_batch_norm_and_not_layer_norm() -> None:
    # s1 … s3 alone, z1 = (7, 2, 1): mean 10/3, mean of squares 54/3 = 18,
    #   variance 18 - 100/9 = 6.8889, root 2.6247;  (7 - 3.3333)/2.6247 = 1.397
    # with 100 rows of zeros: mean 10/103 = .0971, mean of squares 54/103 = .5243,
    #   variance .5243 - .0094 = .5148, root .7175;  (7 - .0971)/.7175 = 9.620
    sentence = TABLE[:3]
    padded = torch.cat([sentence, torch.zeros(100, 3)])
    first = [float(batch_norm()(rows).detach()[0, 0]) for rows in (sentence, padded)]
    assert first == pytest.approx([1.397, 9.620], abs=5e-4)
    norm = layer_norm()
    assert torch.equal(norm(padded)[:3], norm(sentence))


def test_add_and_norm_works_on_each_word_alone() -> None:
    """The same, around a sub-layer, in both orders: no word moves with what stands beside it."""
    words = torch.randn(1, 3, 4)
    padded = torch.cat([words, torch.zeros(1, 100, 4)], dim=1)
    for order in ("post", "pre"):
        wrapped = AddAndNorm(Spec(3, d_model=4, heads=1, norm_order=order, dropout=0.0))
        alone, among = wrapped(words, torch.tanh), wrapped(padded, torch.tanh)
        assert torch.equal(among[:, :3], alone)


def test_the_residual_is_always_added() -> None:
    """002: the input is added even where the sub-layer gives nothing."""
    spec = Spec(3, d_model=4, heads=1, norm_order="pre", dropout=0.0)
    x = torch.randn(2, 5, 4)
    assert torch.equal(AddAndNorm(spec)(x, torch.zeros_like), x)
