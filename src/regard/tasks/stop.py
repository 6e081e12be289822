"""Ctrl-C and termination, made polite: the first signal asks the loop to stop after its step."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether, and by which signal, the run was asked to stop."""

    signal: int | None = None


@contextmanager
def polite_stop() -> Iterator[StopRequest]:
    """Inside, SIGINT and SIGTERM set the request; a second one interrupts at once."""
    request = StopRequest()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if request.signal is not None:
            raise KeyboardInterrupt
        request.signal = number

    old = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
