"""Which sentence is in which slot, how long its output may be, and how it must begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.best import log_sum_exp
from regard.decode.constraints import NO_PREFIX, Constraints
from regard.decode.slots import Slots
from regard.decode.tree_mask import TreeWords


@dataclass(frozen=True)
class QueuedSentence:
    """Source ids with their end token, or a prompt but for its last token, which is then `start`.

    `number` says whose answer it is, `draw` which one.
    """

    number: int
    source: tuple[int, ...] | tuple[float, ...]  # floats: a picture (decode/engine.py)
    limit: int  # most output tokens, end token included
    start: int  # what the output starts from
    prefix: tuple[int, ...] = ()
    draw: int = 0
    prompted: bool = False

    @property
    def text(self) -> tuple[int, ...]:
        """What is translated or gone on with, of a source that is text."""
        ids = cast("tuple[int, ...]", self.source)
        return (*ids, self.start) if self.prompted else ids


class ActiveRequests:
    """The sentences in the slots of a batch."""

    def __init__(self, slots: Slots, constraints: Constraints) -> None:
        self._slots, self._constraints = slots, constraints
        self.sentences: list[QueuedSentence | None] = [None] * len(slots)
        self.limits = torch.zeros(len(slots), dtype=torch.long, device=slots.ages.device)
        rule = constraints.rules.tree
        self._trees: TreeWords | None = None
        if rule is not None:
            self._trees = TreeWords.none(rule, len(slots), slots.ages.device)
        self._prefixes = self.limits.new_zeros(len(slots), 0)
        self._prompts = self.limits.new_zeros(len(slots), 0)  # where constraints look at them

    def admit(self, places: Sequence[int], sentences: Sequence[QueuedSentence]) -> None:
        prefixes = [sentence.prefix for sentence in sentences]
        self._prefixes = _written(self._prefixes, places, prefixes)
        if self._constraints.see_prompts:
            prompts = [s.text if s.prompted else () for s in sentences]
            self._prompts = _written(self._prompts, places, prompts)
        for place, sentence in zip(places, sentences, strict=True):
            self.sentences[place] = sentence
            self.limits[place] = sentence.limit
            if self._trees is not None:
                self._trees.admit(place, sentence.text)

    def keep(self, places: Int[Tensor, " n"]) -> None:
        self.sentences = [self.sentences[place] for place in places.tolist()]
        self.limits, self._prefixes, self._prompts = (
            x[places] for x in (self.limits, self._prefixes, self._prompts)
        )
        if self._trees is not None:
            self._trees.keep(places)

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
        prompts = self._prompts.repeat_interleave(slots.width, dim=0)
        trees = None if self._trees is None else self._trees.repeated(slots.width)
        return self._constraints.apply(logits, outputs, real, limits, prefix, prompts, trees)

    def _next_of_prefix(self) -> Int[Tensor, " R"] | None:
        """The token that each row must put out next, NO_PREFIX where free; None if all are."""
        slots, longest = self._slots, self._prefixes.shape[1]
        place = slots.ages - 1
        wanted = self._prefixes.gather(1, place.clamp(max=longest - 1)[:, None])[:, 0]
        wanted = torch.where(place < longest, wanted, NO_PREFIX)
        some = bool((wanted != NO_PREFIX).any())
        return wanted.repeat_interleave(slots.width) if some else None


def _written(
    table: Int[Tensor, "B P"], places: Sequence[int], rows: Sequence[tuple[int, ...]]
) -> Int[Tensor, "B more"]:
    """The table with these rows at these places, wider if need be; the rest is NO_PREFIX."""
    missing = max(map(len, rows)) - table.shape[1]
    if missing > 0:
        table = torch.nn.functional.pad(table, (0, missing), value=NO_PREFIX)
    for place, row in zip(places, rows, strict=True):
        table[place] = NO_PREFIX
        table[place, : len(row)] = torch.tensor(row, dtype=torch.long)
    return table
