"""Around everything: a number for each request, its line in the log, its place in the metrics.

A line has no texts, no keys and no addresses. The number is the client's own (X-Request-ID) if it
is plain, and comes back in the answer. Prometheus is told of routes, models and statuses; names
are those of the server, not what a request says: nobody can make the list longer.
"""

import json
import re
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Receive, Scope
from starlette.types import Message as AsgiMessage
from starlette.types import Send as AsgiSend

from regard.serve.pool import ModelPool, ServedModel
from regard.serve.refusal import BROKEN, HttpRefusal, refuse

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PLAIN = re.compile(r"[\w.-]{1,64}", re.ASCII)
QUIET = ("/healthz", "/readyz", "/metrics")  # asked all the time; not in the log
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


GAUGES: dict[str, tuple[str, Callable[[ServedModel], float]]] = {
    "model_ready": ("1: its engine process answers.", lambda model: float(model.is_ready)),
    "requests_under_way": (
        "Requests taken on and not answered.",
        lambda model: float(model.admission.requests),
    ),
    "tokens_under_way": ("About how many tokens they have.", lambda m: float(m.admission.tokens)),
    "sentences_waiting": ("Sentences that no engine has.", lambda m: float(m.load["waiting"])),
    "sentences_running": ("Sentences in a slot or batch.", lambda m: float(m.load["running"])),
    "engine_deaths": ("Engine processes that ended.", lambda model: float(model.deaths)),
    "input_tokens": ("Tokens read so far.", lambda m: float(m.tokens["input"])),
    "output_tokens": ("Tokens written so far.", lambda m: float(m.tokens["output"])),
}


class ServeMetrics:
    """Counters of one server."""

    def __init__(self, pool: ModelPool) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "regard_requests", "Requests answered.", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "regard_request_seconds",
            "From the head of a request to the end of its answer.",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        for name, (words, value) in GAUGES.items():
            gauge = Gauge(f"regard_{name}", words, ["model"], registry=self._registry)
            for model in pool.models.values():
                gauge.labels(model.name).set_function(partial(value, model))

    def observe(self, route: str, status: int, seconds: float) -> None:
        """One request is answered."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class Observed:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, pool: ModelPool, metrics: ServeMetrics, log: str) -> None:
        self._app, self._pool, self._metrics, self._log = app, pool, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, number = time.perf_counter(), _number(scope)
        scope.setdefault("state", {})["number"] = number
        status, size = 0, 0

        async def told(message: AsgiMessage) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(b"x-request-id", number.encode("ascii")), *ALWAYS]
                message["headers"] = [*message.get("headers", ()), *own]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        waited_for = not self._pool.draining and scope["path"] not in QUIET
        self._pool.requests += waited_for
        try:
            await self._app(scope, receive, told)
        except Exception as error:  # here, so that it is counted, and has its number
            print("".join(traceback.format_exception(error)), file=sys.stderr)
            if status:  # too late to say so: the connection is ended
                raise
            await refuse(HttpRefusal(500, BROKEN), scope["path"], told)
        finally:
            self._pool.requests -= waited_for
            seconds = time.perf_counter() - begun
            route = _route(scope)
            status = status or 499  # the client left before there was an answer
            self._metrics.observe(route, status, seconds)
            if self._log != "off" and scope["path"] not in QUIET:
                self._write(scope, route, status, seconds, size)

    def _write(self, scope: Scope, route: str, status: int, seconds: float, size: int) -> None:
        said = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "id": scope["state"]["number"],
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "bytes": size,
            "model": scope["state"].get("model", ""),
            "key": scope["state"].get("key", ""),
        }
        if self._log == "json":
            print(json.dumps(said), file=sys.stderr)
            return
        shown = [said["time"], said["method"], said["route"], status, f"{said['ms']} ms"]
        print(*shown, said["model"], said["id"], file=sys.stderr)


def _number(scope: Scope) -> str:
    """The client's own, if it is plain; else a new one."""
    given = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"x-request-id"), "")
    return given if PLAIN.fullmatch(given) else uuid.uuid4().hex


def _route(scope: Scope) -> str:
    """The path of the route that answered, as the server knows it; never what was asked for."""
    route = scope.get("route")
    return str(vars(route).get("path", "other")) if route is not None else "other"
