"""What an output may not contain: the model's rules and the options of the search, on log p."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.rules import Rules


def obeyed(
    log_p: Float[Tensor, "B V"], rules: Rules, eos: int, length: int, limits: Sequence[int]
) -> Float[Tensor, "B V"]:
    """The log-probabilities with -∞ for what the rules forbid as token number `length + 1`.

    They are not normalised again: what is forbidden keeps its share, so an output's score stays
    comparable with that of another model or library. A token that is forced counts as certain.
    """
    if not rules:
        return log_p
    log_p = log_p.clone()
    if rules.never:
        log_p[:, list(rules.never)] = -torch.inf
    if rules.first is not None and length == 0:
        log_p = _only(rules.first, log_p)
    if rules.must_end:
        last = torch.tensor([limit == length + 1 for limit in limits], device=log_p.device)
        log_p = torch.where(last[:, None], _only(eos, log_p), log_p)
    return log_p


def _only(token: int, log_p: Tensor) -> Tensor:
    certain = torch.full_like(log_p, -torch.inf)
    certain[:, token] = 0.0
    return certain
