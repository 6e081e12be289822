"""Continuous batching: a slot whose sentence is finished takes the next one of the queue at once.

The memory of the next sentences is made ahead, many at a time, because the encoder works best on
many; taking a slot is then only a copy. When nobody waits any more, empty slots are removed. The
prompts of a decoder-only model are read ahead in the same way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.active_requests import QueuedSentence
from regard.decode.beam import BeamSearch
from regard.decode.constraints import Constraints
from regard.decode.engine import NO_END, Frame, Hypothesis, IsOver, Row, SourceNumbers
from regard.decode.fused import FusedModel
from regard.decode.greedy import Greedy
from regard.decode.options import DecodingOptions, Rules
from regard.decode.prefill import read_prompts
from regard.decode.slots import Slots
from regard.model.masks import padded

# The next sentences of the queue, at most so many.
TakeSentences = Callable[[int], Sequence[QueuedSentence]]
Give = Callable[[QueuedSentence, list[Hypothesis]], None]


class Ready:
    """Sentences from the queue whose memory is made."""

    def __init__(self, model: FusedModel, take: TakeSentences, batch: int, pad: int) -> None:
        self._model, self._take, self._batch, self._pad = model, take, batch, pad
        self._sentences: list[QueuedSentence] = []
        self._memory, self._lengths = torch.zeros(0), torch.zeros(0)

    def look(self) -> tuple[int, int] | None:
        """How many are ready, and the longest source among them; None at the end of the queue."""
        if not self._sentences:
            self._sentences = list(self._take(self._batch))
            if self._sentences:
                self._encode()
        return (len(self._sentences), self._memory.shape[4]) if self._sentences else None

    def take(self, count: int) -> tuple[list[QueuedSentence], Tensor, Tensor]:
        """The next ones with memory and source lengths; fewer at the end, and then none."""
        self.look()
        taken, self._sentences = self._sentences[:count], self._sentences[count:]
        n = len(taken)
        memory, lengths = self._memory[:, :, :n], self._lengths[:n]
        self._memory, self._lengths = self._memory[:, :, n:], self._lengths[n:]
        return taken, memory, lengths

    def _encode(self) -> None:
        rows = [sentence.source for sentence in self._sentences]
        self._memory, self._lengths = memory_of(self._model, rows, self._pad)


@torch.inference_mode()
def decode_queue(
    model: FusedModel,
    take: TakeSentences,
    give: Give,
    decoding: DecodingOptions,
    rules: Rules,
    frame: Frame,
    batch: int,
    is_over: IsOver | None = None,
) -> None:
    """Search for every sentence that `take` hands out; each answer is given when it is there.

    Without a beam, an output ends too where `is_over` says so.
    """
    ready = Ready(model, take, batch, frame.pad)
    first = ready.look()
    if first is None:
        return
    greedy = decoding.beam == 1 and not decoding.coverage
    slots = Slots(model, first[0], 1 if greedy else decoding.beam, first[1])
    constraints = constraints_of(model, decoding, rules, frame)
    run = Greedy(slots, constraints, is_over) if greedy else BeamSearch(slots, constraints)
    empty = list(range(len(slots)))
    while True:
        while empty:
            sentences, memory, lengths = ready.take(len(empty))
            if not sentences:
                break
            places, empty = empty[: len(sentences)], empty[len(sentences) :]
            slots.admit(torch.tensor(places, device=model.device), memory, lengths)
            run.admit(places, sentences)
        if len(empty) == len(slots):
            return
        if 4 * len(empty) > len(slots):  # nobody waits any more
            held = torch.tensor(sorted(set(range(len(slots))) - set(empty)), device=model.device)
            slots.keep(held)
            run.keep(held)
            empty = []
        elif empty:
            slots.release(torch.tensor(empty, device=model.device))
        waiting = len(empty)
        while len(empty) == waiting:
            for place, sentence, hypotheses in run.step():
                give(sentence, hypotheses)
                empty.append(place)


@torch.inference_mode()
def decode_one(
    model: FusedModel,
    sentence: QueuedSentence,
    decoding: DecodingOptions,
    rules: Rules,
    frame: Frame,
) -> Iterator[int]:
    """The tokens of one output as they come, without a beam; the one that ends it is not given."""
    waiting = [sentence]
    ready = Ready(model, lambda most: [waiting.pop()] if waiting else [], 1, frame.pad)
    (_, memory, lengths), place = ready.take(1), torch.zeros(1, dtype=torch.long)
    slots = Slots(model, 1, 1, memory.shape[4])
    slots.admit(place.to(model.device), memory, lengths)
    run = Greedy(slots, constraints_of(model, decoding, rules, frame))
    run.admit([0], [sentence])
    given = 0
    while True:
        for _, _, hypotheses in run.step():
            yield from hypotheses[0].ids[given:]
            return
        yield run.token(0)
        given += 1


def memory_of(
    model: FusedModel, rows: Sequence[SourceNumbers], pad: int
) -> tuple[Float[Tensor, "N 2 B H S K"], Int[Tensor, " B"]]:
    """What the decoder looks back at for each source or prompt, and how long each is."""
    if model.patches is not None:
        pixels, places = pixels_of(model, rows)
        return model.encode(pixels, places), places.sum(dim=1)
    ids = cast("Sequence[Row]", rows)
    if model.encoder is None:
        return read_prompts(model, ids, pad)
    source, real = padded(ids, pad, model.device)
    return model.encode(source, real), real.sum(dim=1)


def pixels_of(
    model: FusedModel, rows: Sequence[SourceNumbers]
) -> tuple[Float[Tensor, "B C height width"], Bool[Tensor, "B S"]]:
    """Pictures, whose rows are all their numbers; all places of a picture are real."""
    spec = model.spec
    numbers = torch.from_numpy(np.stack([np.asarray(row, np.float32) for row in rows]))
    pixels = numbers.view(-1, spec.channels, spec.image_size, spec.image_size)
    real = torch.ones(len(rows), spec.patches + 1, dtype=torch.bool)
    return pixels.to(model.device), real.to(model.device)


def constraints_of(
    model: FusedModel, decoding: DecodingOptions, rules: Rules, frame: Frame
) -> Constraints:
    """What limits the outputs; a model without an end token cannot be made to end, or not to."""
    if frame.end == NO_END:
        decoding, rules = replace(decoding, min_length=0), replace(rules, must_end=False)
    theirs = decoding.convention == "transformers" and model.encoder is not None
    return Constraints(decoding, rules, frame.end, (frame.start,) if theirs else ())
