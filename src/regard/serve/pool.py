"""The models of a server, each in an engine process that is watched.

A process that dies is replaced, at once the first time and more slowly if it dies again and again.
What it was asked and had not begun to tell is asked again, once; what it was telling, or what two
processes died of, ends with 503. A process that is silent over the server's whole deadline is
ended.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from regard.api.model import NEEDS
from regard.errors import MisuseError, RegardError
from regard.serve.admission import Admission
from regard.serve.engine_process import EngineProcess
from regard.serve.options import ModelToServe, ServeOptions
from regard.serve.refusal import HttpRefusal
from regard.serve.wire import WireMessage, refusal_of, settings_for

TRIES = 2  # processes that a request may be asked of
SLOWER, SLOWEST = 2.0, 30.0  # between two processes that die: times as long, seconds at most
CALM = 60.0  # seconds after which a death is the first again
ENDING = RegardError("server", "it is about to end", advice="ask another, or try again")
IDLE = {"waiting": 0, "running": 0}
PICTURE = "." * 800  # about the tokens of a picture: 14 × 14 patches


@dataclass(eq=False)
class PendingAnswer:
    """A request that an engine process has, or will have."""

    number: int
    task: str
    asked: WireMessage
    tokens: float
    since: float
    heard: "asyncio.Queue[WireMessage]" = field(default_factory=asyncio.Queue)
    tries: int = 0
    begun: bool = False  # a piece of the answer was told


class ServedModel:
    """A model by its name, and who waits for it."""

    def __init__(self, options: ServeOptions, model: ModelToServe) -> None:
        self.name, self._limits = model.name, options.limits
        self._settings = settings_for(options, model)
        self.admission = Admission(options.limits)
        self.facts: WireMessage = {}  # of its first engine process on
        self.begun = int(time.time())
        self.load = IDLE
        self.deaths, self.tokens = 0, {"input": 0, "output": 0}
        self.is_ready = self._stopped = False
        self._pending: dict[int, PendingAnswer] = {}
        self._process: EngineProcess | None = None
        self._started: asyncio.Future[None] | None = None
        self._count, self._pause, self._died, self._heard_at = 0, 0.0, 0.0, 0.0
        self._replacing: asyncio.Task[None] | None = None

    def offers(self, task: str) -> bool:
        """Whether its tasks are enough for this one."""
        return any(need in self.facts["tasks"] for need in NEEDS.get(task, (task,)))

    async def start(self) -> None:
        """Until it is ready; a model that cannot be opened is an error."""
        self._started = asyncio.get_running_loop().create_future()
        self._begin()
        await self._started

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def give_up(self) -> None:
        """The server ends: what is not answered yet will not be."""
        for pending in list(self._pending.values()):
            self._refuse(pending, ENDING, "draining")

    async def answer(self, task: str, asked: WireMessage, deadline: float) -> WireMessage:
        """The whole answer, within so many seconds."""
        with self._asked(task, asked) as pending:
            while True:
                message = await self._next(pending, deadline)
                if "answer" in message:
                    answer: WireMessage = message["answer"]
                    return answer

    async def pieces(
        self, task: str, asked: WireMessage, deadline: float
    ) -> AsyncGenerator[WireMessage, None]:
        """The pieces of an answer, if there are any, then the answer itself."""
        with self._asked(task, asked) as pending:
            message: WireMessage = {}
            while "answer" not in message:
                message = await self._next(pending, deadline)
                yield message

    @contextmanager
    def _asked(self, task: str, asked: WireMessage) -> Iterator[PendingAnswer]:
        """A request that is taken on; however the block ends, its place is free afterwards."""
        tokens = self.admission.size(texts_in(asked))
        self.admission.enter(tokens)
        self._count += 1
        pending = PendingAnswer(self._count, task, asked, tokens, time.monotonic())
        self._pending[pending.number] = pending
        try:
            if self.is_ready:
                self._send(pending)
            yield pending
        finally:
            self.admission.leave(pending.tokens)
            if self._pending.pop(pending.number, None) is not None and self._process is not None:
                self._process.send({"cancel": pending.number})

    async def _next(self, pending: PendingAnswer, deadline: float) -> WireMessage:
        """What the engine says of it next, unless that is a refusal or comes too late."""
        left = pending.since + deadline - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, left)):
                message = await pending.heard.get()
        except TimeoutError:
            raise self._late(deadline) from None
        if "refusal" in message:
            raise _refusal(message["refusal"])
        if "answer" in message:
            self._learn(pending, message["answer"])
        return message

    def _send(self, pending: PendingAnswer) -> None:
        assert self._process is not None
        pending.tries += 1
        self._process.send({"id": pending.number, "task": pending.task, "asked": pending.asked})

    def _learn(self, pending: PendingAnswer, answer: WireMessage) -> None:
        usage = answer.get("usage", {})
        for side, count in usage.items():
            self.tokens[side] += count
        counted = usage.get("input", 0) or sum(answer.get("tokens", ()))
        full = self.load["waiting"] > 0
        self.admission.learn(pending.tokens, texts_in(pending.asked), counted, full)

    def _late(self, deadline: float) -> HttpRefusal:
        # By the server's deadline, not by the client's: that may be a thousandth of a second.
        silent = time.monotonic() - self._heard_at > self._limits.deadline
        if silent and self.is_ready and self._process is not None:
            self._process.kill()  # another takes its place
        problem = f"no answer within {deadline:g} s"
        advice = "ask for less at once, or for more time with --deadline"
        error = RegardError("deadline", problem, advice=advice)
        return HttpRefusal(503, error, "deadline", retry_after=str(self.admission.wait()))

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._process = EngineProcess(self._settings, loop, self._heard, self._gone)

    def _heard(self, process: EngineProcess, message: WireMessage) -> None:
        if process is not self._process:
            return
        self._heard_at = time.monotonic()
        if "ready" in message:
            self.facts, self.is_ready = message["ready"], True
            self._settle(None)
            for pending in list(self._pending.values()):
                self._send(pending)
        elif "failed" in message:
            if self.facts:  # who waits for the first start says it
                print(f"regard: {self.name}: {message['failed']['message']}", file=sys.stderr)
            self._settle(HttpRefusal(500, message["failed"]))
        elif "load" in message:
            self.load = message["load"]
        else:
            self._deliver(message)

    def _settle(self, problem: Exception | None) -> None:
        """How the first start went, for whoever waits for that."""
        if self._started is None or self._started.done():
            return
        if problem is None:
            self._started.set_result(None)
        else:
            self._stopped = True
            self._started.set_exception(problem)

    def _deliver(self, message: WireMessage) -> None:
        pending = self._pending.get(message["id"])
        if pending is None:  # nobody waits any more
            return
        if "piece" in message:
            pending.begun = True
        else:
            del self._pending[pending.number]
        pending.heard.put_nowait(message)

    def _refuse(self, pending: PendingAnswer, error: RegardError, code: str) -> None:
        del self._pending[pending.number]
        pending.heard.put_nowait({"refusal": refusal_of(error, 503) | {"code": code}})

    def _gone(self, process: EngineProcess, code: int) -> None:
        if process is not self._process or self._stopped:
            return
        self._process, self.is_ready = None, False
        if not self.facts:  # it never began
            problem = f"its engine process ended with code {code} before it was ready"
            self._settle(HttpRefusal(500, RegardError(self.name, problem)))
            return
        self.deaths += 1
        self.load = IDLE
        print(f"regard: {self.name}: its engine process ended with code {code}", file=sys.stderr)
        for pending in list(self._pending.values()):
            if pending.begun or pending.tries >= TRIES:
                problem = "the engine process of this model ended while it answered"
                error = RegardError(self.name, problem, advice="ask again")
                self._refuse(pending, error, "engine_died")
        self._replacing = asyncio.get_running_loop().create_task(self._replace())

    async def _replace(self) -> None:
        while not self._stopped:
            now = time.monotonic()
            calm = now - self._died > CALM
            self._pause = 0.0 if calm else min(SLOWEST, max(1.0, self._pause * SLOWER))
            self._died = now
            await asyncio.sleep(self._pause)
            try:
                if not self._stopped:
                    self._begin()
                return
            except OSError as error:  # no memory, no more files: perhaps later
                print(f"regard: {self.name}: no engine process: {error}", file=sys.stderr)


class ModelPool:
    """All models of a server."""

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.models = {model.name: ServedModel(options, model) for model in options.models}
        self.draining = False
        self.requests = 0  # of HTTP, that came before it drained and are not over

    async def start(self) -> None:
        """Until every model is ready."""
        try:
            await asyncio.gather(*(model.start() for model in self.models.values()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for model in self.models.values():
            model.stop()

    def give_up(self) -> None:
        """Nobody is answered any more: those that still wait hear so."""
        for model in self.models.values():
            model.give_up()

    @property
    def is_ready(self) -> bool:
        return not self.draining and all(model.is_ready for model in self.models.values())

    def named(self, name: str | None, task: str) -> ServedModel:
        """The model of this name, if it offers the task; without a name the first that does."""
        if self.draining:
            raise HttpRefusal(503, ENDING, "draining", retry_after="1")
        offering = [model for model in self.models.values() if model.facts and model.offers(task)]
        if name is None:
            if not offering:
                problem = f"no model of this server offers {task}"
                raise HttpRefusal(404, MisuseError("model", problem), "model_not_found")
            # The one that was made for it, before one that can do it too.
            return min(offering, key=lambda model: task not in model.facts["tasks"])
        model = self.models.get(name)
        if model is None or not model.facts:
            there = ", ".join(self.models)
            error = MisuseError("model", got=name, expected=f"one of {there}")
            raise HttpRefusal(404, error, "model_not_found")
        if model not in offering:
            offered = ", ".join(model.facts["tasks"])
            problem = f"{name} does not offer {task}"
            error = MisuseError("model", problem, advice=f"it offers {offered}")
            raise HttpRefusal(404, error, "not_offered")
        return model

    def translators(self) -> list[ServedModel]:
        """The models that translate."""
        models = self.models.values()
        return [m for m in models if m.facts and "translate" in m.facts["tasks"]]

    def between(self, source: str | None, target: str | None) -> ServedModel:
        """The first that translates between these languages; None: whichever it has."""
        there = self.translators()
        for model in there:
            facts = model.facts
            if source in (None, facts["source"]) and target in (None, facts["target"]):
                return model
        pairs = ", ".join(f"{m.facts['source']}-{m.facts['target']}" for m in there) or "none"
        error = MisuseError("languages", got=f"{source}-{target}", expected=f"one of {pairs}")
        raise HttpRefusal(400, error, "languages")


def _refusal(said: WireMessage) -> HttpRefusal:
    """What an engine process refused, or that it died."""
    again = {"retry_after": "1"} if said["status"] == 503 else {}
    return HttpRefusal(said["status"], said, said.get("code", ""), **again)


def texts_in(asked: WireMessage) -> list[str]:
    """Every text of a request, to be counted; a picture counts as one, whatever its file's size."""
    texts = [PICTURE] * len(asked.get("pictures", ()))
    for name, value in asked.items():
        if name == "pictures":
            continue
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            texts += [v for v in value if isinstance(v, str)]
            texts += [str(v.get("content", "")) for v in value if isinstance(v, dict)]
    return texts
