"""Sentences of all requests, searched together: in an engine process, by threads of their own.

    torch         each thread has slots (decode/live_batch.py): a sentence joins at the next step,
                  leaves when it is done, and its place goes to the next one. Nobody waits for
                  another's long sentence, and the answer is byte for byte that of a single request
    ctranslate2   each thread takes those of about the same length that wait when it is free, the
                  one that has waited longest among them: a batch takes as long as its longest

A request that nobody waits for any more gives its slots back before the next step; a batch of
ctranslate2 that has begun goes on to its end. Nothing here imports torch before there is a torch
engine.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, cast

from regard.decode.engine import Continuer, Engine, Hypothesis, Row
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.decode.options import DecodingOptions
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.decode.engines.torch import TorchEngine
    from regard.decode.live_batch import LiveBatch

ALIKE, CLOSE = 1.5, 8  # lengths of one batch: times as long, and so many tokens besides
SOURCE_TOKENS = 8192  # of the sources of one batch of ctranslate2


@dataclass(eq=False)
class Search:
    """One sentence, or one prompt, and who waits for its answer."""

    engine: Engine
    row: Row
    decoding: DecodingOptions
    done: Callable[[list[Hypothesis]], None]
    failed: Callable[[Exception], None]
    prefix: Row = ()
    draw: int = 0
    # Hears each token as it comes, without a beam; True: that was enough, nobody waits any more.
    token: Callable[[int], bool] | None = None
    wanted: bool = True

    def finish(self, hypotheses: list[Hypothesis]) -> None:
        """Its answer; whatever goes wrong with it is this search's own, not its batch's."""
        try:
            self.done(hypotheses)
        except Exception as error:
            self.failed(error)

    def hear(self, token: int) -> bool:
        """One more token, if it wants to hear them; True: that was enough."""
        try:
            return self.token is not None and self.token(token)
        except Exception as error:
            self.failed(error)
            return True


def is_exact(engine: Engine) -> bool:
    """Whether its answers are byte for byte the same in any company."""
    return engine.name == "torch" and engine.layout.precision == "fp32"


class Waiting:
    """Searches that nobody has begun, oldest first."""

    def __init__(self) -> None:
        self._queue: deque[Search] = deque()
        self._there = threading.Condition()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, searches: Sequence[Search]) -> None:
        with self._there:
            self._queue.extend(searches)
            self._there.notify_all()

    def take(
        self, choose: Callable[[Sequence[Search]], Sequence[Search]], wait: bool
    ) -> Sequence[Search]:
        """Those that are chosen among the waiting; `wait`: until there are some."""
        with self._there:
            while True:
                self._queue = deque(search for search in self._queue if search.wanted)
                chosen = choose(self._queue) if self._queue else ()
                if chosen or not wait:
                    break
                self._there.wait()
            taken = set(map(id, chosen))
            self._queue = deque(search for search in self._queue if id(search) not in taken)
            return chosen


class SlotBatch:
    """Searches with the same options, in slots that one thread moves on step by step."""

    def __init__(self, engine: "TorchEngine", decoding: DecodingOptions) -> None:
        self._engine, self._decoding = engine, decoding
        self._live: LiveBatch | None = None
        self._numbers = count()
        self._new: list[Search] = []
        self._inside: dict[int, Search] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._inside)

    def add(self, search: Search) -> None:
        """Let it take part from the next step on."""
        self._new.append(search)

    def step(self) -> None:
        """One more token for everybody; who has left gives the place back first."""
        if self._live is None:
            self._live = self._engine.live(self._decoding)
        self._drop([number for number, search in self._inside.items() if not search.wanted])
        self._admit(self._live)
        for sentence, hypotheses in self._live.step():
            self._inside.pop(sentence.number).finish(hypotheses)
        if any(search.token is not None for search in self._inside.values()):
            heard = self._live.newest().items()
            self._drop([number for number, token in heard if self._inside[number].hear(token)])

    def fail(self, error: Exception) -> None:
        """Nothing of it can be used any more: whoever is in it hears why."""
        for search in (*self._inside.values(), *self._new):
            search.failed(error)
        self._inside.clear()
        self._new.clear()

    def _admit(self, live: "LiveBatch") -> None:
        queued = []
        while self._new:
            search, number = self._new.pop(0), next(self._numbers)
            try:
                sentence = self._engine.queued(
                    number, search.row, search.decoding, search.prefix, search.draw
                )
            except RegardError as error:  # a prefix that does not fit is nobody else's error
                search.failed(error)
                continue
            self._inside[number] = search
            queued.append(sentence)
        live.admit(queued)

    def _drop(self, numbers: list[int]) -> None:
        for number in numbers:
            del self._inside[number]
        if numbers and self._live is not None:
            self._live.drop(numbers)


class SlotThreads:
    """The torch engine: `workers` threads, each with batches that are never waited for."""

    def __init__(self, engine: "TorchEngine", slots: int | None = None) -> None:
        self._engine, self._slots = engine, slots or engine.layout.batch
        self.waiting = Waiting()
        self._inside = [0] * engine.layout.workers
        for worker in range(engine.layout.workers):
            threading.Thread(target=self._work, args=(worker,), daemon=True).start()

    @property
    def running(self) -> int:
        return sum(self._inside)

    def _work(self, worker: int) -> None:
        import torch

        torch.set_num_threads(self._engine.layout.threads)
        batches: dict[DecodingOptions, SlotBatch] = {}
        while True:
            inside = self._inside[worker]
            taken = self.waiting.take(partial(self._share, inside), wait=not inside)
            self._inside[worker] += len(taken)
            for search in taken:
                decoding = _group(search.decoding)
                if decoding not in batches:
                    batches[decoding] = SlotBatch(self._engine, decoding)
                batches[decoding].add(search)
            for decoding, batch in list(batches.items()):
                try:
                    batch.step()
                except Exception as error:  # whoever is in it hears of it, and the thread lives
                    batch.fail(error)
                if not len(batch):
                    del batches[decoding]
            self._inside[worker] = sum(map(len, batches.values()))

    def _share(self, inside: int, there: Sequence[Search]) -> Sequence[Search]:
        """As many as there is room for, and not more than this thread's part."""
        room = min(self._slots - inside, -(-len(there) // len(self._inside)))
        return list(there)[: max(0, room)]


def _group(decoding: DecodingOptions) -> DecodingOptions:
    """The options that a batch has in common; how long an output may be is each one's own."""
    return replace(decoding, max_length=None)


class LibraryThreads:
    """ctranslate2: as many short batches at once as the library has workers."""

    def __init__(self, engine: Engine, size: int | None = None) -> None:
        self._size = size or engine.layout.batch
        self.waiting, self.running = Waiting(), 0
        self._lock = threading.Lock()
        for _ in range(engine.layout.workers):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            batch = self.waiting.take(self._alike, wait=True)
            with self._lock:
                self.running += len(batch)
            self._answer(batch)
            with self._lock:
                self.running -= len(batch)

    def _alike(self, there: Sequence[Search]) -> Sequence[Search]:
        """The oldest, and those of about its length with the same options."""
        first = there[0]
        if first.token is not None:  # a stream is by itself
            return [first]
        length = len(first.row)
        lowest, highest = length / ALIKE - CLOSE, length * ALIKE + CLOSE
        room = min(self._size, max(1, int(SOURCE_TOKENS // highest)))
        chosen = [
            search
            for search in there
            if search.engine is first.engine
            and search.decoding == first.decoding
            and bool(search.prefix) == bool(first.prefix)
            and search.token is None
            and lowest <= len(search.row) <= highest
        ]
        return chosen[:room]

    def _answer(self, batch: Sequence[Search]) -> None:
        """Together; one by one if something is wrong with one of them, which is its own error."""
        try:
            self._search(batch)
        except Exception as error:
            if len(batch) == 1:
                batch[0].failed(error)
                return
            for search in batch:
                self._answer([search])

    def _search(self, batch: Sequence[Search]) -> None:
        engine, decoding = batch[0].engine, batch[0].decoding
        if batch[0].token is not None:
            _stream(cast(Continuer, engine), batch[0])
            return
        rows = [search.row for search in batch]
        if isinstance(engine, CTranslate2Engine):
            prefixes = [s.prefix for s in batch] if batch[0].prefix else ()
            answers = engine.submit(rows, decoding, prefixes, together=True)()
        else:
            answers = engine.submit(rows, decoding)()
        for search, hypotheses in zip(batch, answers, strict=True):
            search.finish(hypotheses)


def _stream(engine: Continuer, search: Search) -> None:
    """Token by token; the library's stream tells no log p."""
    ids: list[int] = []
    for token in engine.stream(search.row, search.decoding, search.draw):
        if not search.wanted or search.hear(token):
            return
        ids.append(token)
    ended = len(ids) < search.decoding.limit(len(search.row))
    search.finish([Hypothesis(tuple(ids), 0.0, 0.0, ended)])


class Batcher:
    """Every search of an engine process, with the threads of its engine."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots
        self._threads: dict[int, SlotThreads | LibraryThreads] = {}

    def add(self, searches: Sequence[Search]) -> None:
        """Begin with them as soon as there is room."""
        for engine in {search.engine for search in searches}:
            if id(engine) not in self._threads:
                self._threads[id(engine)] = self._opened(engine)
            own = [search for search in searches if search.engine is engine]
            self._threads[id(engine)].waiting.add(own)

    def _opened(self, engine: Engine) -> SlotThreads | LibraryThreads:
        if engine.name == "torch":
            return SlotThreads(cast("TorchEngine", engine), self._slots)
        return LibraryThreads(engine, self._slots)

    @property
    def load(self) -> tuple[int, int]:
        """How many searches wait, and how many are under way."""
        threads = list(self._threads.values())
        return sum(len(each.waiting) for each in threads), sum(each.running for each in threads)
