"""A batch that sentences join when they come and leave when they are done, step by step.

`decode_queue` (decode/batching.py) works through a queue that is known; a server does not know who
comes next. Here whoever drives the batch decides between two steps who joins and who is dropped:

    admit ─▸ step ─▸ step ─▸ …      a step is one more token for everybody who is in it

The slots grow and shrink by halves, so that their cache is seldom copied. A sentence's numbers do
not depend on who else is there (decode/slots.py): its answer is that of `decode_queue`.
"""

from collections.abc import Collection, Sequence

import torch

from regard.decode.active_requests import QueuedSentence
from regard.decode.batching import constraints_of, memory_of
from regard.decode.beam import BeamSearch
from regard.decode.engine import Frame, Hypothesis
from regard.decode.fused import FusedModel
from regard.decode.greedy import Greedy
from regard.decode.options import DecodingOptions, Rules
from regard.decode.slots import Slots

PATIENCE = 8  # steps with half of the slots empty before they are given back


class LiveBatch:
    """Sentences with the same decoding options; those of other options have another batch."""

    def __init__(
        self, model: FusedModel, decoding: DecodingOptions, rules: Rules, frame: Frame
    ) -> None:
        self._model, self._frame, self._decoding = model, frame, decoding
        self._constraints = constraints_of(model, decoding, rules, frame)
        self._greedy = decoding.beam == 1 and not decoding.coverage
        self._run: Greedy | BeamSearch | None = None
        self._empty: list[int] = []
        self._roomy = 0  # steps with more empty slots than are needed

    def __len__(self) -> int:
        """How many are in it."""
        return 0 if self._run is None else len(self._run.slots) - len(self._empty)

    @torch.inference_mode()
    def admit(self, sentences: Sequence[QueuedSentence]) -> None:
        """Let these take part from the next step on."""
        if not sentences:
            return
        rows = [sentence.source for sentence in sentences]
        memory, lengths = memory_of(self._model, rows, self._frame.pad)
        run = self._with_room(len(sentences), memory.shape[4])
        places, self._empty = self._empty[: len(rows)], self._empty[len(rows) :]
        run.slots.admit(torch.tensor(places, device=self._model.device), memory, lengths)
        run.admit(places, sentences)

    @torch.inference_mode()
    def step(self) -> list[tuple[QueuedSentence, list[Hypothesis]]]:
        """One more token for each; the answers to those that are finished now, who leave."""
        run = self._run
        if run is None:
            return []
        if self._empty:
            run.slots.release(torch.tensor(self._empty, device=self._model.device))
        finished = run.step()
        self._empty += [place for place, _, _ in finished]
        self._tidy()
        return [(sentence, hypotheses) for _, sentence, hypotheses in finished]

    def newest(self) -> dict[int, int]:
        """By number, the last token of each that goes on; a beam has no last token yet."""
        run = self._run
        if not isinstance(run, Greedy):
            return {}
        tokens = run.tokens()
        there = enumerate(run.active.sentences)
        return {s.number: tokens[place] for place, s in there if s is not None}

    def drop(self, numbers: Collection[int]) -> None:
        """Let those leave whose answers nobody wants any more; the others do not notice."""
        if self._run is None:
            return
        for place, sentence in enumerate(self._run.active.sentences):
            if sentence is not None and sentence.number in numbers:
                self._run.leave(place)
                self._empty.append(place)
        self._tidy()

    def _with_room(self, count: int, longest: int) -> Greedy | BeamSearch:
        """The search with at least so many empty slots."""
        run = self._run
        if run is None:
            width = 1 if self._greedy else self._decoding.beam
            slots = Slots(self._model, _rounded_up(count), width, longest)
            search = Greedy if self._greedy else BeamSearch
            run = self._run = search(slots, self._constraints)
            self._empty = list(range(len(slots)))
        elif count > len(self._empty):
            there = len(run.slots)
            size = _rounded_up(there + count - len(self._empty))
            # New slots are copies of the first, which nobody is in: they are empty.
            self._keep([*range(there), *[0] * (size - there)])
            for place in range(there, size):
                run.active.sentences[place] = None
            self._empty += range(there, size)
        return run

    def _tidy(self) -> None:
        """Give slots back that have been empty for a while; all of them at once if nobody is in."""
        run = self._run
        if run is None:
            return
        if not len(self):
            self._run, self._empty, self._roomy = None, [], 0
            return
        self._roomy = self._roomy + 1 if 2 * len(self._empty) > len(run.slots) else 0
        if self._roomy > PATIENCE:
            held = sorted(set(range(len(run.slots))) - set(self._empty))
            self._keep(held)
            self._empty, self._roomy = [], 0

    def _keep(self, places: Sequence[int]) -> None:
        assert self._run is not None
        kept = torch.tensor(places, device=self._model.device)
        self._run.slots.keep(kept)
        self._run.keep(kept)


def _rounded_up(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length()
