"""Which sentence is in which slot, how long its output may be, and how it must begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.best import log_sum_exp
from regard.decode.constraints import NO_PREFIX, Constraints


@runtime_checkable
class SearchRows(Protocol):
    """Rows of some sentences that are fed token by token: Slots, or those of one prompt."""

    width: int  # rows of each sentence
    ages: Tensor  # tokens that each sentence has been fed, the start token counted
    lengths: Tensor  # of the sources
    attention: Tensor | None  # to the source, where a step was asked to explain

    def __len__(self) -> int:
        """How many sentences."""

    def step(self, tokens: Tensor, explain: bool = False) -> Tensor:
        """Feed one token to each row; the logits of what comes next."""

    def outputs(self) -> tuple[Tensor, Tensor]:
        """The tokens that each row has put out, and how many they are."""

    def output(self, slot: int, row: int) -> list[int]:
        """Those of one row."""

    def reorder(self, parents: Tensor) -> None:
        """Each row goes on with what the row `parents` of its sentence has been fed."""


@dataclass(frozen=True)
class QueuedSentence:
    """Source ids with their end token; `number` says whose answer it is, `draw` which one."""

    number: int
    source: tuple[int, ...]
    limit: int  # most output tokens, end token included
    prefix: tuple[int, ...] = ()
    draw: int = 0


class ActiveRequests:
    """The sentences in the slots of a batch."""

    def __init__(self, slots: SearchRows, constraints: Constraints) -> None:
        self._slots, self._constraints = slots, constraints
        self.sentences: list[QueuedSentence | None] = [None] * len(slots)
        self.limits = torch.zeros(len(slots), dtype=torch.long, device=slots.ages.device)
        self._prefixes = self.limits.new_zeros(len(slots), 0)

    def admit(self, places: Sequence[int], sentences: Sequence[QueuedSentence]) -> None:
        longest = max(len(sentence.prefix) for sentence in sentences)
        missing = longest - self._prefixes.shape[1]
        if missing > 0:
            self._prefixes = torch.nn.functional.pad(self._prefixes, (0, missing), value=NO_PREFIX)
        for place, sentence in zip(places, sentences, strict=True):
            self.sentences[place] = sentence
            self.limits[place] = sentence.limit
            self._prefixes[place] = NO_PREFIX
            prefix = torch.tensor(sentence.prefix, dtype=torch.long)
            self._prefixes[place, : len(prefix)] = prefix

    def keep(self, places: Int[Tensor, " n"]) -> None:
        self.sentences = [self.sentences[place] for place in places.tolist()]
        self.limits, self._prefixes = self.limits[places], self._prefixes[places]

    def constrain(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, " R"]:
        """Let the constraints change the logits; returns what to subtract to have log p."""
        slots = self._slots
        prefix = self._next_of_prefix() if self._prefixes.shape[1] else None
        if prefix is None and not self._constraints:
            return log_sum_exp(logits)
        tokens, lengths = slots.outputs()
        outputs = tokens.flatten(0, 1)
        limits, lengths = (x.repeat_interleave(slots.width) for x in (self.limits, lengths))
        real = torch.arange(outputs.shape[1], device=logits.device) < lengths[:, None]
        return self._constraints.apply(logits, outputs, real, limits, prefix)

    def _next_of_prefix(self) -> Int[Tensor, " R"] | None:
        """The token that each row must put out next, NO_PREFIX where free; None if all are."""
        slots, longest = self._slots, self._prefixes.shape[1]
        place = slots.ages - 1
        wanted = self._prefixes.gather(1, place.clamp(max=longest - 1)[:, None])[:, 0]
        wanted = torch.where(place < longest, wanted, NO_PREFIX)
        some = bool((wanted != NO_PREFIX).any())
        return wanted.repeat_interleave(slots.width) if some else None
