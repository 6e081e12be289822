"""An engine process: one model, asked over its standard input, answering on its standard output.

The server has no model and computes nothing; so a model that crashes, or is killed because memory
ran out, takes no server with it (serve/pool.py puts another in its place). One that the ctranslate2
engine answers for never imports torch. Signals are for the server to answer: the process ends when
its line does.
"""

import os
import signal
import sys
import threading
import time
from functools import partial
from typing import IO

from regard.api.model import Model
from regard.bundle.bundle import Bundle, open_bundle
from regard.decode.options import DecodingOptions
from regard.engines.engines import EngineRequest, describe
from regard.errors import MisuseError, RegardError
from regard.processor.caps import note_import_order
from regard.serve.batcher import Batcher, is_exact
from regard.serve.calls import CALLS, CallThread, ModelCall
from regard.serve.jobs import JOBS, CompleteJob, TranslateJob
from regard.serve.languages import languages_of
from regard.serve.wire import WireMessage, WorkerSettings, as_line, read_message, refusal_of

EVERY = 0.1  # seconds between two reports of the load, if it changed
BROKEN = RegardError("the model failed", "an error of the server", advice="its log says more")


class EngineDesk:
    """Where requests arrive and answers leave."""

    def __init__(self, settings: WorkerSettings, line: IO[bytes]) -> None:
        self._line, self._lock = line, threading.Lock()
        self.model = opened(settings)
        self._batcher = Batcher(settings.slots)
        self._calls = CallThread(self.model, self._sent, self._failed, settings.exact)
        self._under_way: dict[int, TranslateJob | CompleteJob | ModelCall] = {}
        self.send({"ready": facts(settings, self.model)})
        threading.Thread(target=self._report, daemon=True).start()

    def send(self, message: WireMessage) -> None:
        line = as_line(message)
        with self._lock:
            self._line.write(line)
            self._line.flush()

    def hear(self, message: WireMessage) -> None:
        """A request, or that nobody waits for one any more."""
        if "cancel" in message:
            job = self._under_way.pop(message["cancel"], None)
            if isinstance(job, ModelCall):
                job.wanted = False
            elif job is not None:
                job.drop()
            return
        number, task, asked = message["id"], message["task"], message["asked"]
        try:
            self._begin(number, task, asked)
        except Exception as error:
            self._failed(number, error)

    def _begin(self, number: int, task: str, asked: WireMessage) -> None:
        if task in JOBS:
            fail = partial(self._failed, number)
            job = JOBS[task](self.model, number, asked, self._sent, fail)
            self._under_way[number] = job
            self._batcher.add(job.begin())
        elif task in CALLS:
            call = ModelCall(number, task, asked)
            self._under_way[number] = call
            self._calls.add(call)
        else:
            raise MisuseError("task", got=task, expected=f"one of {', '.join([*JOBS, *CALLS])}")

    def _sent(self, message: WireMessage) -> None:
        if "piece" not in message:
            self._under_way.pop(message["id"], None)
        try:
            self.send(message)
        except ValueError as error:  # NaN in an answer is no answer
            self._failed(message["id"], error)

    def _failed(self, number: int, error: Exception) -> None:
        job = self._under_way.pop(number, None)
        if isinstance(job, TranslateJob | CompleteJob):
            job.drop()
        known = error if isinstance(error, RegardError) else BROKEN
        if isinstance(error, ModuleNotFoundError):  # a server may be installed without torch
            known = MisuseError(error.name or "a module", "is not installed where the model is")
        if known is BROKEN:
            print(f"regard: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        self.send({"id": number, "refusal": refusal_of(known)})

    def _report(self) -> None:
        """How much waits and how much is under way, whenever that has changed."""
        said: tuple[int, int] | None = None
        while True:
            waiting, running = self._batcher.load
            load = (waiting + len(self._calls), running)
            if load != said:
                said = load
                self.send({"load": {"waiting": load[0], "running": load[1]}})
            time.sleep(EVERY)


def opened(settings: WorkerSettings) -> Model:
    """The model, before its weights are read."""
    bundle = open_bundle(settings.place)
    engine = settings.engine
    if engine == "auto" and "complete" in tasks_of(bundle):
        engine = "torch"  # its slots let no answer wait for another's end, and stream all of them
    request = EngineRequest(
        engine, settings.precision, settings.workers, settings.threads, settings.shortlist
    )
    return Model(bundle, settings.device, request, say=_say)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def tasks_of(bundle: Bundle) -> tuple[str, ...]:
    """What it offers; a choice of engine that was stored says it without torch."""
    choice = bundle.choice
    if not bundle.is_run and choice is not None and choice.engine != "torch":
        return (choice.task,)
    return bundle.tasks


def prepared(model: Model, settings: WorkerSettings) -> tuple[str, bool]:
    """Open what answers, so that the first request need not wait; its name, is it exact?"""
    tasks = tasks_of(model.bundle)
    if "complete" in tasks:
        engine = model.engines.take(DecodingOptions(beam=1))
    elif {"translate", "generate"} & set(tasks):
        engine = model.engines.take(model.bundle.settings.search)
    else:  # an encoder, whose calls are put together unless all is to be exact
        kind = str(next(model.transformer.parameters()).dtype)
        return f"torch {kind.removeprefix('torch.')}", settings.exact
    _ = model.bundle.tokenizer
    return describe(engine), is_exact(engine)


def facts(settings: WorkerSettings, model: Model) -> WireMessage:
    """What the server needs to know of it."""
    bundle, tasks = model.bundle, tasks_of(model.bundle)
    engine, exact = prepared(model, settings)
    source, target = languages_of(settings.name, bundle) if "translate" in tasks else ("", "")
    return {
        "tasks": list(tasks),
        "engine": engine,
        "exact": exact,
        "source": source,
        "target": target,
        "size": model.vector_size if "embed" in tasks and "complete" not in tasks else 0,
    }


def main() -> None:
    """The process's own side: answer until the line ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    note_import_order()
    # Whatever libraries print must not be read as an answer.
    line = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = WorkerSettings(**read_message(sys.stdin.buffer.readline()))
    try:
        desk = EngineDesk(settings, line)
    except (RegardError, OSError) as error:
        known = error if isinstance(error, RegardError) else RegardError(str(error))
        line.write(as_line({"failed": refusal_of(known)}))
        line.flush()
        sys.exit(1)
    for said in sys.stdin.buffer:
        desk.hear(read_message(said))
    os._exit(0)  # threads may be in the middle of a batch that nobody waits for
