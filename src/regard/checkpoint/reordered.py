"""The same model with its numbers in another order: where a format counts them in another way.

A head. llama2.c and llama.cpp rotate neighbours (x_2i, x_2i+1), published folders and we the two
halves (x_i, x_{i+K/2}) of a head. Scores are sums over a head, so it is enough to sort the rows of
W_Q and W_K, and their biases: first all even ones of a head, then all odd ones.

The residual vector. Between sub-layers a position is a vector of d_model numbers. Attention, the
feed-forward network and the logits reach it only through their matrices, and a norm treats all its
numbers alike; so the numbers may stand in any order, if every matrix reads and writes them in that
order. Thus sinusoids may be interleaved, or Marian's halves:

    interleaved  sin_0 cos_0 sin_1 cos_1 …   →   halves  sin_0 sin_1 … cos_0 cos_1 …

Only the order of sums changes, not their terms: what comes out is equal up to rounding.
"""

import re
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.model.positions import halves, sinusoids
from regard.model.spec import Spec
from regard.model.transformer import Transformer

# weights whose rows, and whose bias, are numbers of the residual vector
WRITES = r".*(attention|cross)\.output\.(weight|bias)|.*outer\.(weight|bias)|.*norm\.(weight|bias)"
# weights whose columns are
READS = r".*(query|key|value|inner|gate)\.weight|\w+_embedding\.(weight|segments)|output\.weight"


def to_halves(weight: Tensor, k: int) -> Tensor:
    """Rows of each head of size K from neighbours to halves: 0, 2, 4, …, 1, 3, 5, …"""
    return weight.reshape(-1, k // 2, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def to_neighbours(weight: Tensor, k: int) -> Tensor:
    """Back: 0, K/2, 1, K/2 + 1, …"""
    return weight.reshape(-1, 2, k // 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def as_halves(model: Transformer, **changes: Any) -> Transformer:
    """The same function under the spec with `positions="halves"` and these `changes`.

    A change may untie matrices, which are copied then, or add the output's bias, which is zero.
    A model that has no sinusoids has no such form, and comes back as it is.
    """
    spec = model.spec
    if spec.positions not in ("sinusoidal", "halves"):
        return model
    order = torch.arange(spec.d_model)
    if spec.positions == "sinusoidal":
        order = halves(order[None].float())[0].long()
    weights = dict(model.named_parameters(remove_duplicate=False))
    reordered = Transformer(replace(spec, positions="halves", **changes), seed=None)
    with torch.no_grad():
        for name, parameter in reordered.named_parameters():
            if name in weights:
                parameter.copy_(_reordered(name, weights[name].detach(), order))
    return reordered.train(model.training)


def _reordered(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    order = order.to(tensor.device)
    if re.fullmatch(WRITES, name):
        return tensor[order]
    return tensor[..., order] if re.fullmatch(READS, name) else tensor


def are_halves(table: Tensor, spec: Spec) -> bool:
    """Whether a stored table holds these sinusoids, up to the rounding of a 16-bit file."""
    if table.dim() != 2 or table.shape[1] != spec.d_model:
        return False
    return torch.allclose(table, halves(sinusoids(*table.shape)), rtol=0, atol=5e-3)
