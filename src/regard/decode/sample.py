"""Sampling: each next token drawn by its probability.

    p_i ∝ exp(log p_i / temperature)        temperature 0 takes the most likely token: greedy
    top-k     only the k most likely tokens
    top-p     only the fewest most likely tokens that together reach probability p

The three narrow the choice in this order. Every draw has random numbers of its own, seeded by what
it goes on with: it can be repeated, whatever else is decoded with it, and torch's global chance is
left alone.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.options import DecodingOptions, Sampling


def narrowed(
    log_p: Float[Tensor, "B V"], sampling: Sampling | DecodingOptions
) -> Float[Tensor, "B V"]:
    """Log-probabilities of the draw (temperature > 0): -∞ where a token is not in the choice."""
    scores = log_p / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < scores.shape[1]:
        least = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if sampling.top_p is not None:
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        p = ordered.softmax(dim=-1)
        likelier = p.cumsum(dim=-1) - p  # the probability of all tokens before this one
        spare = likelier >= sampling.top_p
        spare = spare.scatter(1, order, spare)  # back from sorted order to that of the vocabulary
        scores = scores.masked_fill(spare, -torch.inf)
    return scores.log_softmax(dim=-1)


def drawn(
    log_p: Float[Tensor, "B V"], decoding: DecodingOptions, uniform: Float[Tensor, " B"]
) -> tuple[Float[Tensor, " B"], Int[Tensor, " B"]]:
    """Where the summed probabilities of a row pass its random number: the token and its log p.

    One number of its own for each row: what is drawn does not depend on the other rows.
    """
    p = narrowed(log_p, decoding).exp().double()
    summed = p.cumsum(dim=1)
    passed = torch.searchsorted(summed, (uniform * summed[:, -1])[:, None], right=True)[:, 0]
    # rounding may point behind the last token that has a probability at all
    last = summed.shape[1] - 1 - (p > 0).flip(1).int().argmax(dim=1)
    tokens = torch.minimum(passed, last)
    return log_p.gather(1, tokens[:, None])[:, 0], tokens


def numbers(source: Sequence[int], draw: int, count: int, seed: int | None) -> list[float]:
    """The random numbers of one draw for one source: the same whatever else is decoded with it."""
    if seed is None:
        chance = np.random.default_rng()
    else:
        chance = np.random.default_rng([seed, draw, *source])
    return chance.random(count).tolist()  # type: ignore[no-any-return]
