"""Beam search: keep the k most likely unfinished outputs of each sentence, collect finished ones.

At each step the 2k best extensions of a sentence are looked at (3k with two end tokens, and so on:
enough that k do not end): those among the first k that end are finished; the best k that do not end
go on. Finished outputs are compared by
log p / length norm (decode/options.py), plus the coverage penalty if there is one; one sentence,
written for reading, is in decode/reference.py. Outputs that are cut off at the length limit count
where too few are finished, or, by the convention of transformers, always, with their score. When a
sentence is done:

    stop = "exact"     no open output can still overtake the n-th best finished one
    stop = "first-k"   k outputs have been finished
    stop = "likely"    k outputs have been finished, and no open output, if it ended now with p = 1,
                       would overtake the worst of the k best (what published settings mean)

Coverage penalty (Wu et al. 2016), of attention weights p_ij from output i to source j:

    β Σ_j log min(Σ_i p_ij, 1)         0 when every source token has been attended to once
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.active_requests import ActiveRequests, QueuedSentence
from regard.decode.best import top
from regard.decode.constraints import Constraints
from regard.decode.engine import Hypothesis, best_first
from regard.decode.greedy import Finished
from regard.decode.options import LENGTH_NORMS, DecodingOptions
from regard.decode.slots import Slots


@dataclass
class Beam:
    """The search of one sentence: finished hypotheses, and when there is nothing left to gain."""

    decoding: DecodingOptions
    limit: int
    finished: list[Hypothesis] = field(default_factory=list)

    def finish(
        self, ids: Sequence[int], log_p: float, penalty: float, finished: bool = True
    ) -> None:
        score = self.decoding.score(log_p, len(ids) + finished) + penalty
        self.finished.append(Hypothesis(tuple(ids), log_p, score, finished))

    def is_done(self, length: int, best_open: float) -> bool:
        """After `length` tokens, with the best open output at log-probability `best_open`."""
        if length >= self.limit:
            return True
        if self.decoding.stop == "first-k":
            return len(self.finished) >= self.decoding.beam
        likely = self.decoding.stop == "likely"
        wanted = self.decoding.beam if likely else self.decoding.n_best
        if len(self.finished) < wanted:
            return False
        # An output's log p only falls as it grows; the best it can hope for is to end with p = 1 at
        # the length where the norm is largest, with nothing left uncovered.
        norm = LENGTH_NORMS[self.decoding.length_norm]
        lengths = (length,) if likely else (length + 1, self.limit)
        hope = best_open / max(norm(n, self.decoding.alpha) for n in lengths)
        return self.best(wanted)[-1].score >= hope

    def wants_open(self, length: int) -> bool:
        """Whether the answer of a sentence that is done may hold outputs that are cut off."""
        at_limit = length >= self.limit
        too_few = len(self.finished) < self.decoding.n_best
        return too_few or (at_limit and self.decoding.by_score)

    def best(self, count: int) -> list[Hypothesis]:
        return best_first(self.finished, self.decoding.by_score)[:count]


class BeamSearch:
    """k rows for each sentence, the likeliest first."""

    def __init__(self, slots: Slots, constraints: Constraints) -> None:
        self.slots, self.active = slots, ActiveRequests(slots, constraints)
        self._decoding = constraints.decoding
        self._ends = torch.tensor(constraints.ends, device=slots.ages.device)
        self._beams = [Beam(self._decoding, 0) for _ in range(len(slots))]
        self._tokens = slots.ages.new_zeros(len(slots), slots.width)
        self._scores = torch.zeros_like(self._tokens, dtype=torch.float64)
        self._covered = self._scores.new_zeros(*self._scores.shape, 0)  # attention, (B, k, S)

    def admit(self, places: Sequence[int], sentences: Sequence[QueuedSentence]) -> None:
        self.active.admit(places, sentences)
        rows = list(places)
        self._tokens[rows] = self._tokens.new_tensor([s.start for s in sentences])[:, None]
        self._scores[rows] = -torch.inf
        self._scores[rows, 0] = 0.0  # at first all k outputs of a sentence are the same empty one
        for place, sentence in zip(places, sentences, strict=True):
            self._beams[place] = Beam(self._decoding, sentence.limit)
        self._covered[rows] = 0.0

    def keep(self, places: Int[Tensor, " n"]) -> None:
        self.active.keep(places)
        self._beams = [self._beams[place] for place in places.tolist()]
        self._tokens, self._scores, self._covered = (
            x[places] for x in (self._tokens, self._scores, self._covered)
        )

    def leave(self, place: int) -> None:
        """Nobody wants the answer of this slot any more."""
        self.active.sentences[place] = None

    def step(self) -> Finished:
        """One more token for every sentence; those that are finished now leave their slots."""
        slots, k = self.slots, self.slots.width
        looked_at = k * (1 + len(self._ends))
        logits = slots.step(self._tokens, explain=self._decoding.coverage > 0)
        if self._decoding.coverage:
            self._cover()
        total = self.active.constrain(logits)
        values, tokens = top(logits, looked_at)
        log_p = (values - total[:, None]).view(len(slots), k, -1)
        candidates = (self._scores[:, :, None] + log_p).flatten(1)
        best = candidates.topk(min(looked_at, candidates.shape[1]), dim=1)
        parents = best.indices // log_p.shape[2]
        possible = best.values > -torch.inf
        tokens = tokens.view(len(slots), -1).gather(1, best.indices)
        # What is impossible may be a row that only fills up the output matrix; any real token does.
        tokens = torch.where(possible, tokens, 0)
        ends = torch.isin(tokens, self._ends) & possible
        self._collect(best.values, parents, ends)
        # The best k that do not end: push those that end behind all others, keep their order.
        order = torch.sort(ends, dim=1, stable=True).indices[:, :k]
        self._scores, self._tokens = best.values.gather(1, order), tokens.gather(1, order)
        parents = parents.gather(1, order)
        slots.reorder(parents)
        if self._decoding.coverage:
            self._covered = self._covered.gather(1, parents[:, :, None].expand_as(self._covered))
        return self._finished()

    def _collect(
        self, values: Float[Tensor, "B c"], parents: Int[Tensor, "B c"], ends: Bool[Tensor, "B c"]
    ) -> None:
        """Finish those of the first k extensions of each sentence that end."""
        for place, rank in torch.nonzero(ends[:, : self.slots.width]).tolist():
            value = float(values[place, rank])
            if value > -torch.inf and self.active.sentences[place] is not None:
                row = int(parents[place, rank])
                ids = self.slots.output(place, row)
                self._beams[place].finish(ids, value, self._penalty(place, row))

    def _finished(self) -> Finished:
        length, best_open = self.slots.ages.tolist(), self._scores[:, 0].tolist()
        finished: Finished = []
        for place, sentence in enumerate(self.active.sentences):
            beam = self._beams[place]
            if sentence is None or not beam.is_done(length[place], best_open[place]):
                continue
            if beam.wants_open(length[place]):
                self._cut_off(place)
            self.active.sentences[place] = None
            finished.append((place, sentence, beam.best(self._decoding.n_best)))
        return finished

    def _cut_off(self, place: int) -> None:
        """The open outputs of a sentence join the finished ones as they are."""
        for row, value in enumerate(self._scores[place].tolist()):
            if value > -torch.inf:
                ids = [*self.slots.output(place, row), int(self._tokens[place, row])]
                self._beams[place].finish(ids, value, self._penalty(place, row), finished=False)

    def _cover(self) -> None:
        """Add the attention of this step to what each source token has had."""
        attention = self.slots.attention
        assert attention is not None
        missing = attention.shape[2] - self._covered.shape[2]
        if missing > 0:
            self._covered = torch.nn.functional.pad(self._covered, (0, missing))
        self._covered[..., : attention.shape[2]] += attention

    def _penalty(self, place: int, row: int) -> float:
        if not self._decoding.coverage:
            return 0.0
        real = int(self.slots.lengths[place])
        covered = self._covered[place, row, :real].clamp(min=1e-9, max=1.0)
        return self._decoding.coverage * float(covered.log().sum())
