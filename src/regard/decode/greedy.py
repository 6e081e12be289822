"""Greedy search: take the most likely token (or draw one), feed it back, stop at the end token."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.active_requests import ActiveRequests, QueuedSentence
from regard.decode.best import best
from regard.decode.constraints import Constraints
from regard.decode.engine import Hypothesis, IsOver
from regard.decode.sample import drawn, numbers
from regard.decode.slots import Slots

Finished = list[tuple[int, QueuedSentence, list[Hypothesis]]]  # slot, its sentence, the answer


class Greedy:
    """One row for each sentence."""

    def __init__(
        self, slots: Slots, constraints: Constraints, is_over: IsOver | None = None
    ) -> None:
        self.slots, self.active = slots, ActiveRequests(slots, constraints)
        self._decoding, self._ends, self._is_over = constraints.decoding, constraints.ends, is_over
        self._tokens = torch.zeros_like(slots.ages)
        self._totals = torch.zeros(len(slots), dtype=torch.float64, device=slots.ages.device)
        self._chance: dict[QueuedSentence, list[float]] = {}

    def admit(self, places: Sequence[int], sentences: Sequence[QueuedSentence]) -> None:
        self.active.admit(places, sentences)
        self._tokens[list(places)] = self._tokens.new_tensor([s.start for s in sentences])
        self._totals[list(places)] = 0.0
        if self._decoding.draws:
            for s in sentences:
                self._chance[s] = numbers(s.text, s.draw, s.limit, self._decoding.seed)

    def keep(self, places: Int[Tensor, " n"]) -> None:
        self.active.keep(places)
        self._tokens, self._totals = self._tokens[places], self._totals[places]

    def step(self) -> Finished:
        """One more token for every sentence; those that are finished now leave their slots."""
        slots = self.slots
        logits = slots.step(self._tokens[:, None])
        total = self.active.constrain(logits)
        if self._decoding.draws:
            values, self._tokens = drawn(logits - total[:, None], self._decoding, self._uniform())
        else:
            values, self._tokens = best(logits)
            values = values - total
        self._totals += values
        ended = torch.isin(self._tokens, self._tokens.new_tensor(self._ends))
        over = ended | (slots.ages >= self.active.limits)
        if self._is_over is not None:
            self._look_at_outputs(over, self._is_over)
        finished: Finished = []
        for place in torch.nonzero(over)[:, 0].tolist():
            sentence = self.active.sentences[place]
            if sentence is not None:
                self.active.sentences[place] = None
                self._chance.pop(sentence, None)
                finished.append((place, sentence, [self._hypothesis(place)]))
        return finished

    def leave(self, place: int) -> None:
        """Nobody wants the answer of this slot any more."""
        sentence, self.active.sentences[place] = self.active.sentences[place], None
        if sentence is not None:
            self._chance.pop(sentence, None)

    def tokens(self) -> list[int]:
        """What came last in each slot."""
        last: list[int] = self._tokens.tolist()
        return last

    def token(self, place: int) -> int:
        """What came last."""
        return int(self._tokens[place])

    def _look_at_outputs(self, over: Bool[Tensor, " B"], is_over: IsOver) -> None:
        for place, sentence in enumerate(self.active.sentences):
            if sentence is not None and not over[place]:
                ids = [*self.slots.output(place, 0), self.token(place)]
                over[place] = is_over(sentence.number, ids)

    def _hypothesis(self, place: int) -> Hypothesis:
        total, ids = float(self._totals[place]), self.slots.output(place, 0)
        last = self.token(place)
        ended = last in self._ends
        if not ended:
            ids.append(last)
        score = self._decoding.score(total, len(ids) + ended)
        return Hypothesis(tuple(ids), total, score, ended)

    def _uniform(self) -> Float[Tensor, " R"]:
        """The next random number of each sentence."""
        ages, held = self.slots.ages.tolist(), self.active.sentences
        rows = [0.5 if s is None else self._chance[s][ages[i] - 1] for i, s in enumerate(held)]
        return torch.tensor(rows, dtype=torch.float64, device=self._totals.device)
