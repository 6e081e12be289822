"""Beam search: keep the k most likely unfinished outputs of each sentence, collect finished ones.

At each step the 2k best extensions of a sentence are looked at: those among the first k that end
are finished; the best k that do not end go on. Finished outputs are compared by
log p / length norm (decode/hypothesis.py). When a sentence is done:

    stop = "exact"     no open output can still overtake the n-th best finished one
    stop = "first-k"   k outputs have been finished
    stop = "likely"    k outputs have been finished, and no open output, if it ended now with p = 1,
                       would overtake the worst of the k best (what published settings mean)
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.hypothesis import LENGTH_NORMS, Hypothesis, Search
from regard.decode.constraints import obeyed
from regard.decode.rules import NO_RULES, Rules
from regard.decode.session import Session
from regard.model.transformer import Transformer


class Beam:
    """The search of one sentence: finished hypotheses, and when there is nothing left to gain."""

    def __init__(self, search: Search, limit: int) -> None:
        self.search = search
        self.limit = limit
        self.finished: list[Hypothesis] = []

    def finish(self, ids: list[int], log_probability: float, finished: bool = True) -> None:
        score = self.search.score(log_probability, max(1, len(ids) + finished))
        self.finished.append(Hypothesis(tuple(ids), log_probability, score, finished))

    def is_done(self, length: int, best_open: float) -> bool:
        """After `length` tokens, with the best open output at log-probability `best_open`."""
        if length >= self.limit:
            return True
        if self.search.stop == "first-k":
            return len(self.finished) >= self.search.beam
        likely = self.search.stop == "likely"
        wanted = self.search.beam if likely else self.search.n_best
        if len(self.finished) < wanted:
            return False
        # An output's log p only falls as it grows; the best it can hope for is to end with p = 1 at
        # the length where the norm is largest.
        norm = LENGTH_NORMS[self.search.length_norm]
        lengths = (length,) if likely else (length + 1, self.limit)
        hope = best_open / max(norm(n, self.search.alpha) for n in lengths)
        return self.best(wanted)[-1].score >= hope

    def best(self, count: int) -> list[Hypothesis]:
        return sorted(self.finished, key=lambda h: (h.finished, h.score), reverse=True)[:count]


@torch.inference_mode()
def beam_search(
    model: Transformer,
    source: Int[Tensor, "B S"],
    real: Bool[Tensor, "B S"],
    bos: int,
    eos: int,
    search: Search,
    rules: Rules = NO_RULES,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each sentence, best first."""
    k = search.beam
    most = model.spec.position_limit
    beams = [Beam(search, search.limit(length, most)) for length in real.sum(1).tolist()]
    open_ = list(range(len(beams)))  # sentences that are still searched; k rows each
    session = Session(model, source, real)
    session.keep(torch.arange(len(beams), device=source.device).repeat_interleave(k))
    outputs = torch.empty(len(beams) * k, 0, dtype=torch.long, device=source.device)
    scores = torch.full((len(beams), k), -torch.inf, device=source.device)
    scores[:, 0] = 0.0  # at first all k outputs of a sentence are the same empty one
    tokens = torch.full((len(beams) * k,), bos, dtype=torch.long, device=source.device)
    while open_:
        limits = [beams[sentence].limit for sentence in open_ for _ in range(k)]
        log_p = obeyed(session.extend(tokens), rules, eos, outputs.shape[1], limits)
        candidates = scores[:, :, None] + log_p.view(len(open_), k, -1)
        values, parents, tokens_of = _best_extensions(candidates, 2 * k)
        ends = tokens_of == eos
        _collect(beams, open_, outputs, values, parents, ends, k)
        # The best k that do not end: push those that end behind all others, keep their order.
        order = torch.sort(ends, dim=1, stable=True).indices[:, :k]
        scores = values.gather(1, order)
        first_row = torch.arange(0, len(open_) * k, k, device=source.device)[:, None]
        rows = (first_row + parents.gather(1, order)).flatten()
        tokens = tokens_of.gather(1, order).flatten()
        outputs = torch.cat([outputs[rows], tokens[:, None]], dim=1)
        still = [
            i
            for i, sentence in enumerate(open_)
            if not beams[sentence].is_done(outputs.shape[1], float(scores[i, 0]))
        ]
        for i in set(range(len(open_))) - set(still):
            _give_up(beams[open_[i]], outputs[i * k : (i + 1) * k], scores[i])
        session.reorder(rows)
        if len(still) < len(open_):
            sentences = torch.tensor(still, dtype=torch.long, device=source.device)
            kept = (sentences[:, None] * k + torch.arange(k, device=source.device)).flatten()
            session.keep(kept)
            outputs, tokens, scores = outputs[kept], tokens[kept], scores[sentences]
            open_ = [open_[i] for i in still]
    return [beam.best(search.n_best) for beam in beams]


def _best_extensions(
    candidates: Float[Tensor, "B k V"], count: int
) -> tuple[Float[Tensor, "B c"], Int[Tensor, "B c"], Int[Tensor, "B c"]]:
    """The best extensions of each sentence: log-probability, parent among its k, token."""
    vocabulary = candidates.shape[2]
    best = candidates.flatten(1).topk(min(count, candidates[0].numel()), dim=1)
    return best.values, best.indices // vocabulary, best.indices % vocabulary


def _collect(
    beams: list[Beam],
    open_: list[int],
    outputs: Int[Tensor, "R L"],
    values: Float[Tensor, "B c"],
    parents: Int[Tensor, "B c"],
    ends: Bool[Tensor, "B c"],
    k: int,
) -> None:
    """Finish those of the first k extensions of each sentence that end."""
    for i, rank in torch.nonzero(ends[:, :k]).tolist():
        value = float(values[i, rank])
        if value > -torch.inf:
            ids = outputs[i * k + int(parents[i, rank])].tolist()
            beams[open_[i]].finish(ids, value)


def _give_up(beam: Beam, outputs: Int[Tensor, "k L"], scores: Float[Tensor, " k"]) -> None:
    """A sentence that ends with too few finished outputs keeps its open ones, cut off."""
    if len(beam.finished) < beam.search.n_best:
        for ids, value in zip(outputs.tolist(), scores.tolist(), strict=True):
            if value > -torch.inf:
                beam.finish(ids, value, finished=False)
