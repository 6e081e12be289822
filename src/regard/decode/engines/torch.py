"""The torch engine: the reference, for every family, device and option.

A model with an encoder is given sources, one without prompts, which its outputs go on with.

`workers` threads take sentences from one queue, longest first, each with a batch of its own that it
keeps full (decode/batching.py). torch lets go of Python's lock while it computes, so threads are as
good as processes here, and share the weights.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import cast

import torch

from regard.decode.active_requests import QueuedSentence
from regard.decode.batching import decode_one, decode_queue
from regard.decode.engine import (
    Frame,
    Hypothesis,
    IsOver,
    Layout,
    Pending,
    Row,
    SourceNumbers,
    check_prefix,
    distinct,
)
from regard.decode.fused import FusedModel
from regard.decode.live_batch import LiveBatch
from regard.decode.options import NO_RULES, DecodingOptions, Rules
from regard.decode.score import score_continuations, score_pairs
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.processor.simulate import dies_as_simulated
from regard.processor.survives import insist_on

PRECISIONS = {"fp32": None, "bf16": torch.bfloat16}  # None: as the weights are
PROMPT_BYTES = 2**29  # of keys and values that prompts leave to look back at, for each worker


class DecodingJob:
    """The sentences of one `submit`, and the answers so far."""

    def __init__(
        self, sentences: Sequence[QueuedSentence], count: int, decoding: DecodingOptions
    ) -> None:
        self.decoding = decoding
        self._waiting = deque(sorted(sentences, key=lambda s: -len(s.source)))
        self._answers: list[list[tuple[int, Hypothesis]]] = [[] for _ in range(count)]
        self._prompted = any(sentence.prompted for sentence in sentences)
        self._lock = Lock()
        self.workers: list[Future[None]] = []
        self.alone: Callable[[], None] | None = None  # the work, where nobody shares the machine

    def take(self, most: int) -> list[QueuedSentence]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def give(self, sentence: QueuedSentence, hypotheses: list[Hypothesis]) -> None:
        drawn = [(sentence.draw, hypothesis) for hypothesis in hypotheses]
        with self._lock:  # several draws of one sentence may be with several workers
            self._answers[sentence.number] += drawn

    def result(self) -> list[list[Hypothesis]]:
        if self.alone is not None:
            work, self.alone = self.alone, None
            work()
        for worker in self.workers:
            worker.result()
        answers = [
            [hypothesis for _, hypothesis in sorted(each, key=lambda one: one[0])]
            for each in self._answers
        ]
        if self.decoding.draws and not self._prompted:
            return [distinct(hypotheses) for hypotheses in answers]
        return answers


class TorchEngine:
    """Searches with a model of ours."""

    name = "torch"

    def __init__(
        self,
        model: Transformer,
        frame: Frame,
        rules: Rules = NO_RULES,
        layout: Layout | None = None,
    ) -> None:
        self.layout = layout or Layout(threads=torch.get_num_threads())
        if self.layout.precision not in PRECISIONS:
            advice = f"the torch engine offers {' and '.join(PRECISIONS)}"
            raise MisuseError("precision", got=self.layout.precision, advice=advice)
        if self.layout.precision == "bf16" and next(model.parameters()).device.type == "cpu":
            insist_on("bf16", "precision", "fp32")
        self._model, self._frame, self._rules = model.eval(), frame, rules
        self._fused = FusedModel(model, PRECISIONS[self.layout.precision])
        self._pool = ThreadPoolExecutor(
            self.layout.workers, "regard", torch.set_num_threads, (self.layout.threads,)
        )

    def submit(
        self,
        sources: Sequence[SourceNumbers],
        decoding: DecodingOptions,
        prefixes: Sequence[Row] = (),
        is_over: IsOver | None = None,
    ) -> Pending:
        sentences = []
        for number, source in enumerate(sources):
            prefix = tuple(prefixes[number]) if prefixes else ()
            for draw in range(decoding.n_best if decoding.draws else 1):
                sentences.append(self.queued(number, source, decoding, prefix, draw))
        job = DecodingJob(sentences, len(sources), decoding)
        workers = min(self.layout.workers, len(sentences))
        batch = min(self.layout.batch, -(-len(sentences) // max(1, workers)))
        if self._fused.encoder is None:
            longest = max(map(len, sources), default=1)
            batch = max(1, min(batch, PROMPT_BYTES // (longest * self._fused.bytes_kept)))
        work = partial(self._work, job, batch, is_over)
        if self._fused.encoder is None and len(sentences) == 1:  # with all threads, as a stream
            job.alone = work
        else:
            job.workers = [self._pool.submit(work) for _ in range(workers)]
        return job.result

    def stream(self, prompt: Row, decoding: DecodingOptions, draw: int = 0) -> Iterator[int]:
        """The tokens that follow a prompt as they come; no beam."""
        sentence = self.queued(0, prompt, decoding, (), draw)
        return decode_one(self._fused, sentence, decoding, self._rules, self._frame)

    def live(self, decoding: DecodingOptions) -> LiveBatch:
        """A batch that sentences of these options join and leave; whoever has it drives it."""
        return LiveBatch(self._fused, decoding, self._rules, self._frame)

    def queued(
        self,
        number: int,
        source: SourceNumbers,
        decoding: DecodingOptions,
        prefix: Row = (),
        draw: int = 0,
    ) -> QueuedSentence:
        """A source to translate, or a prompt to go on with as long as there are positions."""
        prompted, most = self._fused.encoder is None, self._model.spec.position_limit
        if prompted and most is not None:
            most = max(1, most - len(source))
        limit = decoding.limit(self._model.spec.source_places or len(source), most)
        if (tree := self._rules.tree) is not None:
            needed = tree.limit(cast("Row", source))
            limit = needed if most is None else min(needed, most)
        check_prefix(prefix, limit)
        read, start = source, self._frame.start
        if prompted:
            read, start = source[:-1], cast("Row", source)[-1]
        return QueuedSentence(number, tuple(read), limit, start, tuple(prefix), draw, prompted)

    def _work(self, job: DecodingJob, batch: int, is_over: IsOver | None) -> None:
        model, rules, frame = self._fused, self._rules, self._frame
        with dies_as_simulated():
            decode_queue(model, job.take, job.give, job.decoding, rules, frame, batch, is_over)

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        if self._fused.encoder is None:
            return score_continuations(self._model, sources, targets)
        return score_pairs(self._model, sources, targets, self._frame)

    def close(self) -> None:
        self._pool.shutdown()
