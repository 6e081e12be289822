"""From a route to a model and back: deadlines, clients that leave, answers piece by piece."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope
from starlette.types import Send as AsgiSend

from regard.errors import MisuseError
from regard.serve.options import ServeOptions
from regard.serve.pool import ModelPool, ServedModel
from regard.serve.refusal import LEFT, HttpRefusal, plain_json
from regard.serve.wire import WireMessage

DONE = "[DONE]"  # the last event of a stream, as clients of OpenAI expect it
Events = Callable[[WireMessage], Iterable[Any]]  # a message of the engine → what is told of it


@dataclass(frozen=True)
class ServerState:
    """What routes know of their server."""

    options: ServeOptions
    pool: ModelPool


def state_of(request: Request) -> ServerState:
    """Of the server that was asked."""
    state: ServerState = request.app.state.server
    return state


def seconds_left(request: Request) -> float:
    """Of the request's deadline, however often it asks a model; it begins with the first time."""
    now = time.monotonic()
    of_request = request.scope.setdefault("state", {})  # ASGI's place for what one request needs
    if "until" not in of_request:
        of_request["until"] = now + _deadline(request)
    return max(0.0, float(of_request["until"]) - now)


def _deadline(request: Request) -> float:
    """Seconds: the server's, or fewer if the client says so."""
    most, given = state_of(request).options.limits.deadline, request.headers.get("x-deadline")
    if given is None:
        return most
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e6:
        error = MisuseError("X-Deadline", got=given, expected="seconds, more than 0")
        raise HttpRefusal(400, error, "deadline")
    return min(most, seconds)


async def ask(request: Request, model: ServedModel, task: str, asked: WireMessage) -> WireMessage:
    """The answer of a model, unless the client leaves first."""
    request.state.model = model.name
    return await unless_left(request, model.answer(task, asked, seconds_left(request)))


async def unless_left(request: Request, work: Coroutine[Any, Any, WireMessage]) -> WireMessage:
    """What the work gives; it is cancelled when the client is gone."""
    answer = asyncio.ensure_future(work)
    left = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise HttpRefusal(499, LEFT)
        return answer.result()
    finally:
        for task in (answer, left):
            task.cancel()
        await asyncio.gather(answer, left, return_exceptions=True)


async def _left(request: Request) -> None:
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return


class EventStream(StreamingResponse):
    """Server-sent events, made of the pieces of an answer; however it ends, these are let go."""

    def __init__(
        self,
        pieces: AsyncGenerator[WireMessage, None],
        content: AsyncIterator[bytes],
        model: ServedModel,
    ) -> None:
        headers = answer_headers(model, model.facts) | {"x-accel-buffering": "no"}
        super().__init__(content, media_type="text/event-stream", headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:  # the client may have left before the first event, or between two
            await self._pieces.aclose()


async def stream(
    request: Request, model: ServedModel, task: str, asked: WireMessage, events: Events
) -> Response:
    """Server-sent events, each as soon as it is there; what is refused before the first is not."""
    request.state.model = model.name
    pieces = model.pieces(task, asked, seconds_left(request))
    first = await unless_left(request, anext(pieces))
    return EventStream(pieces, _events(first, pieces, events), model)


async def _events(
    first: WireMessage, pieces: AsyncIterator[WireMessage], events: Events
) -> AsyncIterator[bytes]:
    try:
        for said in events(first):
            yield _event(said)
        async for message in pieces:
            for said in events(message):
                yield _event(said)
        yield _event(DONE)
    except HttpRefusal as refusal:  # too late for a status
        yield _event(refusal.body("/v1/"))


def _event(said: Any) -> bytes:
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return f"data: {text}\n\n".encode("utf-8", "replace")


def answer_headers(model: ServedModel, made: WireMessage) -> dict[str, str]:
    """Who answered, and whether the answer is byte for byte that of a single request."""
    facts = model.facts
    engine, exact = made.get("engine", facts["engine"]), made.get("exact", facts["exact"])
    shown = str(engine).replace("×", "x")  # headers have no other letters
    return {"regard-engine": shown, "regard-exact": "yes" if exact else "no"}


def answered(model: ServedModel, made: WireMessage, body: Any) -> Response:
    """The body with those headers."""
    return plain_json(body, headers=answer_headers(model, made))
