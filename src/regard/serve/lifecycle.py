"""A server from its first line to its exit code.

    bind the port ─▸ start the models ─▸ listen, say where ─▸ … ─▸ SIGTERM: drain ─▸ exit 0

Draining: not ready from that moment on, new requests are refused with 503, those that were taken on
are answered; after `drain` seconds what is left ends with 503. A second signal ends at once.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from regard.errors import MisuseError, RegardError
from regard.serve.app import make_app
from regard.serve.options import ServeOptions
from regard.serve.pool import ModelPool
from regard.serve.protocol import watched_protocol
from regard.serve.refusal import HttpRefusal

BACKLOG = 2048
LINGER = 0.5  # seconds that a drained server still says so, to whoever has not noticed
SayWhere = Callable[[str, str], None]  # the address, and a line with it
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which answers what it has taken on before it ends."""

    def __init__(
        self, config: uvicorn.Config, pool: ModelPool, drain: float, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._pool, self._drain, self._ready = pool, drain, ready
        self._loop = asyncio.get_running_loop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours, not uvicorn's: it would end by the signal, not with 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal drains, the second ends."""
        if self._pool.draining:
            self.force_exit = self.should_exit = True
            return
        self._pool.draining = True
        self._loop.call_soon_threadsafe(self._begin_draining)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()  # not sooner: whoever reads that line may ask at once

    def _begin_draining(self) -> None:
        self._draining = self._loop.create_task(self._drained())

    async def _drained(self) -> None:
        begun = self._loop.time()
        while self._pool.requests and self._loop.time() - begun < self._drain:
            await asyncio.sleep(0.02)
        self._pool.give_up()
        await asyncio.sleep(LINGER)
        self.should_exit = True


def run_server(options: ServeOptions, say: SayWhere) -> None:
    """Serve until a signal comes; `say` hears where, when the server is ready."""
    bound = _bind(options)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(options, bound, say))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is, which Windows has not."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(options: ServeOptions, bound: socket.socket, say: SayWhere) -> None:
    pool = ModelPool(options)
    app = make_app(options, pool)
    config = uvicorn.Config(
        app,
        http=watched_protocol(options.limits),
        ws="none",
        log_config=None,
        access_log=False,
        log_level="critical",
        server_header=False,
        date_header=True,
        backlog=BACKLOG,
        timeout_keep_alive=max(1, int(options.limits.slow)),
        timeout_graceful_shutdown=2,
        ssl_certfile=options.tls_certificate,
        ssl_keyfile=options.tls_key,
    )

    def ready() -> None:
        address = address_of(options, bound.getsockname()[1])
        names = ", ".join(f"{m.name} ({m.facts['engine']})" for m in pool.models.values())
        say(address, f"Serving {names} at {address} (Ctrl-C ends)")

    try:
        config.load()
    except OSError as error:  # before any model is read
        problem = f"the certificate or its key cannot be used: {error.strerror or error}"
        raise MisuseError("tls", problem) from None
    server = DrainingServer(config, pool, options.limits.drain, ready)
    try:
        await _started(pool)
        await server.serve(sockets=[bound])
    finally:
        pool.stop()


async def _started(pool: ModelPool) -> None:
    """A model that cannot be opened is an error of ours, not of HTTP."""
    try:
        await pool.start()
    except HttpRefusal as refusal:
        raise RegardError(str(refusal)) from None


def _bind(options: ServeOptions) -> socket.socket:
    """Before any model is read: a port that is taken is said at once."""
    host = options.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, options.port))
    except OSError as error:
        bound.close()
        problem = f"{options.host}:{options.port} cannot be had: {error.strerror or error}"
        raise MisuseError("port", problem, advice="give another --port, or 0 for any") from None
    return bound


def address_of(options: ServeOptions, port: int) -> str:
    """Where clients find the server."""
    bare = options.host.strip("[]")
    host = f"[{bare}]" if ":" in bare else bare
    return f"{options.scheme}://{host}:{port}"
