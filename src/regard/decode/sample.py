"""Sampling: go on with a prompt, drawing each next token by its probability.

    p_i ∝ exp(log p_i / temperature)        temperature 0 takes the most likely token: greedy
    top-k     only the k most likely tokens
    top-p     only the fewest most likely tokens that together reach probability p

The three narrow the choice in this order. One generator of its own, seeded, makes a draw repeatable
and leaves torch's global chance alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.constraints import obeyed
from regard.decode.hypothesis import DecodingOptions
from regard.decode.rules import NO_RULES, Rules
from regard.decode.session import Session
from regard.errors import ConfigError, MisuseError
from regard.model.transformer import Transformer


@dataclass(frozen=True)
class Sampling:
    """How to choose each next token, and how many of them."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None  # None: another draw each time
    max_tokens: int = 50

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            whole = name not in ("temperature", "top_p")
            kind = int if whole else (int, float)
            optional = name in ("top_k", "top_p", "seed")
            if optional and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, kind):
                expected = "a whole number" if whole else "a number"
                raise ConfigError(f"{name}: got {value!r}, expected {expected}")
        if not 0 <= self.temperature <= 100:  # NaN fails too
            raise ConfigError(f"temperature: got {self.temperature}, expected 0 to 100")
        for name in ("top_k", "max_tokens"):
            value = vars(self)[name]
            if value is not None and value < 1:
                raise ConfigError(f"{name}: got {value}, expected 1 or more")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p: got {self.top_p}, expected more than 0, at most 1")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed: got {self.seed}, expected 0 to 2^63 - 1")
        if self.temperature == 0:
            drawing = [n for n in ("top_k", "top_p", "seed") if vars(self)[n] is not None]
            if drawing:
                raise ConfigError(
                    f"{', '.join(drawing)}: at temperature 0 nothing is drawn; "
                    "give a temperature too, for example 0.8"
                )


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


def draw(
    log_p: Float[Tensor, "B V"], sampling: Sampling, chance: torch.Generator
) -> Int[Tensor, " B"]:
    """One token for each row."""
    if sampling.temperature == 0:
        return log_p.argmax(dim=-1)
    p = narrowed(log_p, sampling).exp()
    return torch.multinomial(p, 1, generator=chance)[:, 0]


def drawn(
    log_p: Float[Tensor, "B V"], search: DecodingOptions, uniform: Float[Tensor, " B"]
) -> tuple[Float[Tensor, " B"], Int[Tensor, " B"]]:
    """Where the summed probabilities of a row pass its random number: the token and its log p.

    One number of its own for each row: what is drawn does not depend on the other rows.
    """
    p = narrowed(log_p, search).exp().double()
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


@torch.inference_mode()
def continued(
    model: Transformer,
    prompt: Sequence[int],
    ends: Sequence[int],
    sampling: Sampling,
    rules: Rules = NO_RULES,
) -> Iterator[int]:
    """The tokens that follow the prompt, one by one; the one that ends is not given.

    It ends at one of `ends`, after `max_tokens`, or where the model has no more positions.
    """
    assert prompt, "a prompt has at least one token"
    most = model.spec.position_limit
    if most is not None and len(prompt) >= most:
        raise MisuseError(
            f"prompt: {len(prompt)} tokens, this model holds {most} and needs room to go on; "
            "shorten the prompt"
        )
    device = next(model.parameters()).device
    chance = torch.Generator(device)
    if sampling.seed is None:
        chance.seed()
    else:
        chance.manual_seed(sampling.seed)
    room = sampling.max_tokens if most is None else min(sampling.max_tokens, most - len(prompt))
    session = Session(model)
    log_p = session.begin(torch.tensor([list(prompt)], device=device))
    for number in range(room):
        last = ends[0] if ends else -1
        token = draw(obeyed(log_p, rules, last, number, [room]), sampling, chance)
        if int(token) in ends:
            return
        yield int(token)
        if number + 1 < room:
            log_p = session.extend(token)
