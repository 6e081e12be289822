"""Which numbers of a head a rotation turns together: neighbours or halves; one becomes the other.

llama2.c and llama.cpp turn neighbours (x_2i, x_2i+1), published folders and we the two halves
(x_i, x_{i+K/2}) of a head. Scores are sums over a head, so it is enough to sort the rows of W_Q and
W_K, and their biases: first all even ones of a head, then all odd ones.
"""

from torch import Tensor


def to_halves(weight: Tensor, k: int) -> Tensor:
    """Rows of each head of size K from neighbours to halves: 0, 2, 4, …, 1, 3, 5, …"""
    return weight.reshape(-1, k // 2, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def to_neighbours(weight: Tensor, k: int) -> Tensor:
    """Back: 0, K/2, 1, K/2 + 1, …"""
    return weight.reshape(-1, 2, k // 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
