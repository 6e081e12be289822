"""HTTP as uvicorn reads it, with an eye on who is slow or sends too large a head.

uvicorn itself waits for ever for a head that comes byte by byte, and for a client that does not
read its answer (slow clients, or those that mean to hold connections open). Here a connection is
ended when either takes longer than the limit. The body is watched by serve/guards.py.
"""

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from regard.serve.options import ServeLimits

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class WatchedProtocol(HttpToolsProtocol):
    """One connection."""

    limits: ServeLimits

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: TimerHandle | None = None
        self._read_timer: TimerHandle | None = None
        self._in_head, self._size = True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._size += len(data)
            if self._head_timer is None:  # of a connection that was kept alive
                self._watch_head()
        super().data_received(data)
        if self._in_head and self._size > self.limits.headers and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._rest()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._size = True, 0

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self.limits.slow, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _watch_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.slow, self._too_slow)

    def _rest(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._watch_head()  # the request before it is being answered
        elif self._in_head and not self.transport.is_closing():
            self.transport.close()


def watched_protocol(limits: ServeLimits) -> type[WatchedProtocol]:
    """uvicorn's protocol with these limits; uvicorn takes a class and makes the connections."""
    return type("LimitedProtocol", (WatchedProtocol,), {"limits": limits})
