"""What every connection and request passes, around an application of a few lines."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from http_server import PATIENCE
from refusals import refused
from regard.errors import MisuseError
from regard.serve.guards import Guards
from regard.serve.lifecycle import run_server
from regard.serve.observed import Observed, ServeMetrics
from regard.serve.options import ServeLimits, ServeOptions, model_to_serve
from regard.serve.pool import ModelPool
from regard.serve.protocol import watched_protocol

MODEL = (model_to_serve("demo-de"),)
App = Callable[[Any, Any, Any], Awaitable[None]]


def around(app: App, **options: Any) -> tuple[Any, ModelPool, ServeMetrics]:
    """An application inside what every request passes."""
    chosen = ServeOptions(MODEL, **options)
    pool = ModelPool(chosen)
    metrics = ServeMetrics(pool)
    return Observed(Guards(app, chosen, None), pool, metrics, "off"), pool, metrics


@dataclass
class Answer:
    """What an application said."""

    status: int
    headers: dict[str, str]
    body: bytes


async def answer_of(app: Any, path: str = "/", body: bytes = b"", **headers: str) -> Answer:
    """One request, without a network."""
    given = {"host": "127.0.0.1", **headers}
    if body:
        given["content-length"] = str(len(body))
    named = [(k.replace("_", "-").encode(), v.encode("latin-1")) for k, v in given.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": named, "query_string": b""}
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return Answer(said[0]["status"], told, b"".join(each["body"] for each in said[1:]))


def asked(app: Any, path: str = "/", body: bytes = b"", **headers: str) -> Answer:
    return asyncio.run(answer_of(app, path, body, **headers))


async def well(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"well"})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise ZeroDivisionError


def test_an_error_of_ours_is_counted_and_has_its_number() -> None:
    app, _, metrics = around(broken)
    answer = asked(app, "/v1/translate", x_request_id="n-1")
    assert answer.status == 500 and answer.headers["x-request-id"] == "n-1"
    assert json.loads(answer.body)["error"]["type"] == "server_error"
    assert b'status="500"' in metrics.text() and b'status="499"' not in metrics.text()


def test_requests_are_waited_for_unless_they_come_while_it_drains() -> None:
    counts = []

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        counts.append(pool.requests)
        await well(scope, receive, send)

    app, pool, _ = around(counted)
    asked(app)
    asked(app, "/readyz")
    pool.draining = True
    asked(app)
    assert counts == [1, 0, 0] and pool.requests == 0


@pytest.mark.parametrize("origin", ["http://[", "http://", "null", "", "127.0.0.1", "http://a"])
def test_a_strange_origin_is_refused(origin: str) -> None:
    assert asked(around(well)[0], origin=origin).status == 403


def test_hosts_are_compared_as_names_are() -> None:
    def status(called: str, **options: Any) -> int:
        return asked(around(well, **options)[0], host=called).status

    assert status("Example.ORG:80", allow_hosts=("example.org",)) == 200
    assert status("example.org", allow_hosts=("Example.org",)) == 200
    assert status("LOCALHOST:8000") == 200 and status("192.0.2.7") == 421
    opened = {"open_to_everyone": True}
    assert status("[2001:db8::1]:8000", host="2001:db8::1", **opened) == 200
    # An open server may be called by any of its addresses, but by no name that points to it.
    assert status("192.0.2.7:8000", host="0.0.0.0", **opened) == 200
    assert status("evil.example", host="0.0.0.0", **opened) == 421


def test_depth_is_checked_whatever_the_case_of_the_content_type() -> None:
    for kind in ("application/json", "Application/JSON; charset=utf-8"):
        answer = asked(around(well)[0], body=b"[" * 40 + b"]" * 40, content_type=kind)
        assert answer.status == 400


def test_bodies_in_memory_are_bounded() -> None:
    """Together: each of them is small enough."""

    async def many() -> list[int]:
        app, _, _ = around(slowly, limits=ServeLimits(body=1000))

        async def ask() -> int:
            return (await answer_of(app, body=b"1" * 999, content_type="application/json")).status

        return [*await asyncio.gather(*(ask() for _ in range(140))), await ask()]

    async def slowly(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await well(scope, receive, send)

    *together, after = asyncio.run(many())
    assert set(together) == {200, 429} and together.count(200) == 128 and after == 200


@contextmanager
def listening(app: App, limits: ServeLimits) -> Iterator[tuple[str, int]]:
    """uvicorn with our protocol, in a thread."""
    config = uvicorn.Config(
        app,
        port=0,
        http=watched_protocol(limits),
        lifespan="off",
        log_level="critical",
        timeout_keep_alive=1,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + PATIENCE
    while not server.started:
        assert time.monotonic() < end
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def test_the_end_of_a_line_behind_a_request_is_no_slow_head() -> None:
    """Some clients send one; the answer takes longer than a head may."""

    async def later(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(1.5)
        await well(scope, receive, send)

    with (
        listening(later, ServeLimits(slow=0.3)) as place,
        socket.create_connection(place, PATIENCE) as line,
    ):
        line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 200 ")
        line.settimeout(PATIENCE)
        while line.recv(1000):  # and then it is ended, since no head comes
            pass


def test_a_client_that_does_not_read_is_let_go() -> None:
    left = threading.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(400):
            await send({"type": "http.response.body", "body": b"a" * 100_000, "more_body": True})
        message = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        left.set()

    with (
        listening(endless, ServeLimits(slow=0.3)) as place,
        socket.create_connection(place, PATIENCE) as line,
    ):
        line.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert left.wait(PATIENCE)


def test_who_is_refused_while_sending_still_sees_the_answer() -> None:
    guarded = Observed(
        Guards(well, options := ServeOptions(MODEL), None),
        pool := ModelPool(options),
        ServeMetrics(pool),
        "off",
    )
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    with (
        listening(guarded, options.limits) as place,
        socket.create_connection(place, PATIENCE) as line,
    ):
        line.sendall(head + b"Content-Length: 1900000\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 415 ")  # at once
        for _ in range(19):
            time.sleep(0.01)
            line.sendall(b"a" * 100_000)


def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_served() -> None:
    served = []

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        served.append(scope["path"])
        await well(scope, receive, send)

    guarded, _, metrics = around(serve)
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\n\r\nq=Thank"
    with listening(guarded, ServeLimits()) as place:
        socket.create_connection(place, PATIENCE).close()
        with socket.create_connection(place, PATIENCE) as line:
            line.sendall(head + form)
        end = time.monotonic() + PATIENCE
        while b'status="499"' not in metrics.text():
            assert time.monotonic() < end
            time.sleep(0.01)
    assert not served


def test_a_certificate_that_is_none_is_said_before_a_model_is_read(tmp_path: Path) -> None:
    files = {"tls_certificate": tmp_path / "a.pem", "tls_key": tmp_path / "b.pem"}
    with refused(MisuseError, subject="tls"):
        run_server(ServeOptions(MODEL, port=0, **files), lambda address, line: None)
