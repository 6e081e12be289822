"""Greedy search: take the most likely token, feed it back, stop at the end token."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.hypothesis import Hypothesis, Search
from regard.decode.constraints import obeyed
from regard.decode.rules import NO_RULES, Rules
from regard.decode.session import Session
from regard.model.transformer import Transformer


@torch.inference_mode()
def greedy(
    model: Transformer,
    source: Int[Tensor, "B S"],
    real: Bool[Tensor, "B S"],
    bos: int,
    eos: int,
    search: Search,
    rules: Rules = NO_RULES,
) -> list[list[Hypothesis]]:
    """One hypothesis for each row; finished rows leave the batch."""
    session = Session(model, source, real)
    most = model.spec.position_limit
    limits = [search.limit(length, most) for length in real.sum(1).tolist()]
    outputs: list[list[int]] = [[] for _ in limits]
    totals = [0.0] * len(limits)
    done = [False] * len(limits)
    rows = list(range(len(limits)))  # which sentence each row of the session is
    tokens = torch.full((len(rows),), bos, dtype=torch.long, device=source.device)
    while rows:
        step = len(outputs[rows[0]])  # open rows have all come equally far
        open_limits = [limits[row] for row in rows]
        best = obeyed(session.extend(tokens), rules, eos, step, open_limits).max(dim=-1)
        tokens = best.indices
        for row, token, logp in zip(rows, tokens.tolist(), best.values.tolist(), strict=True):
            totals[row] += logp
            done[row] = token == eos
            if not done[row]:
                outputs[row].append(token)
        open_ = [i for i, r in enumerate(rows) if not done[r] and len(outputs[r]) < limits[r]]
        if len(open_) < len(rows):
            keep = torch.tensor(open_, dtype=torch.long, device=source.device)
            session.keep(keep)
            tokens = tokens[keep]
            rows = [rows[i] for i in open_]
    return [
        [Hypothesis(tuple(ids), total, search.score(total, max(1, len(ids) + finished)), finished)]
        for ids, total, finished in zip(outputs, totals, done, strict=True)
    ]
