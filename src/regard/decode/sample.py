"""Sampling: go on with a prompt, drawing each next token by its probability.

    p_i ∝ exp(log p_i / temperature)        temperature 0 takes the most likely token: greedy
    top-k     only the k most likely tokens
    top-p     only the fewest most likely tokens that together reach probability p

The three narrow the choice in this order. One generator of its own, seeded, makes a draw repeatable
and leaves torch's global chance alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.constraints import Constraints
from regard.decode.options import MOST, NO_RULES, DecodingOptions, Rules, check_draw, check_numbers
from regard.errors import ConfigError, MisuseError
from regard.model.transformer import Transformer
from regard.untrusted import shown

NO_END = -1  # an id that no model puts out


@dataclass(frozen=True)
class Sampling:
    """How to choose each next token, and how many of them."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None  # None: another draw each time
    max_tokens: int = 50
    beam: int | None = None  # above 1: search instead of drawing; None: as the folder says

    def __post_init__(self) -> None:
        left_open = ("beam",) if self.beam is None else ()
        check_numbers({name: v for name, v in vars(self).items() if name not in left_open})
        for name in ("top_k", "max_tokens", "beam"):
            value = vars(self)[name]
            if value is not None and value < 1:
                raise ConfigError(f"{name}: got {value}, expected 1 or more")
        check_draw(self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed)
        if self.beam is not None and self.beam > 1 and self.temperature > 0:
            raise ConfigError(f"beam: got {shown(self.beam)}; a draw has none, give beam 1")


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


class Session:
    """A prompt of a decoder-only model, extended by tokens; its cache keeps what was computed."""

    def __init__(self, model: Transformer) -> None:
        self._model, self._cache = model, model.new_cache()

    def extend(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B V"]:
        """Append tokens to each row; the logits of what comes next, in single precision or more."""
        x = self._model.decode(tokens, cache=self._cache)
        logits = self._model.token_logits(x[:, -1])
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Row i goes on with what row `rows[i]` has; there may be more rows than before."""
        self._cache.reorder(rows)


def room_after(model: Transformer, prompt: Sequence[int]) -> int:
    """How many tokens the model has positions for after the prompt: at least one, or an error."""
    assert prompt, "a prompt has at least one token"
    most = model.spec.position_limit
    if most is not None and len(prompt) >= most:
        raise MisuseError(
            f"prompt: {len(prompt)} tokens, this model holds {most} and needs room to go on; "
            "shorten the prompt"
        )
    return (most or MOST["max_length"]) - len(prompt)


def prompt_constraints(
    prompt: Sequence[int], ends: Sequence[int], decoding: DecodingOptions, rules: Rules
) -> Constraints:
    """What limits an output that follows the prompt and ends at one of `ends`, if there are any."""
    if len(prompt) > 1:
        rules = replace(rules, first=None)  # it has begun
    if not ends:
        decoding, rules = replace(decoding, min_length=0), replace(rules, must_end=False)
    context = tuple(prompt) if decoding.convention == "transformers" else ()
    rules = replace(rules, also_ends=tuple(ends[1:]))
    return Constraints(decoding, rules, ends[0] if ends else NO_END, context)


@torch.inference_mode()
def continued(
    model: Transformer,
    prompt: Sequence[int],
    ends: Sequence[int],
    sampling: Sampling,
    rules: Rules = NO_RULES,
    penalties: DecodingOptions | None = None,
) -> Iterator[int]:
    """The tokens that follow the prompt, one by one; the one that ends is not given.

    It ends at one of `ends`, after `max_tokens`, or where the model has no more positions. Of
    `penalties` count what an output may not repeat, how short it may be, and the convention.
    """
    room = min(sampling.max_tokens, room_after(model, prompt))
    device = next(model.parameters()).device
    chance = torch.Generator(device)
    if sampling.seed is None:
        chance.seed()
    else:
        chance.manual_seed(sampling.seed)
    session, limits = Session(model), torch.tensor([room], device=device)
    single = replace(penalties or DecodingOptions(), beam=1, n_best=1)
    constraints = prompt_constraints(prompt, ends, single, rules)
    logits = session.extend(torch.tensor([list(prompt)], device=device))
    so_far = limits.new_zeros(1, 0)
    for number in range(room):
        if constraints:
            constraints.apply(logits, so_far, torch.ones_like(so_far, dtype=torch.bool), limits)
        token = draw(logits.log_softmax(dim=-1), sampling, chance)
        if int(token) in ends:
            return
        yield int(token)
        if number + 1 < room:
            logits = session.extend(token[:, None])
            so_far = torch.cat((so_far, token[:, None]), dim=1)
