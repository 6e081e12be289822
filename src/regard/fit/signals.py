"""Signals made polite: the first one asks the loop to save and stop after its step.

    SIGINT    Ctrl-C; a second one interrupts at once
    SIGTERM   from `kill`, a container or a job manager that needs the machine
    SIGUSR1   from a job manager whose time is nearly up (Slurm: --signal=USR1@90)
    SIGHUP    the terminal was closed; left alone where it is ignored, as under nohup
    SIGBREAK  Ctrl-Break, and a closed window, under Windows

A closed terminal or a job manager may send several: only Ctrl-C is impatient the second time.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from regard.checkpoint.files import steps_saved
from regard.printable import Say
from regard.runs.folder import RunFolder, typed

POLITE = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP", "SIGBREAK")  # no system has them all


class Stopped(Exception):
    """Raised by a signal inside `StopRequest.at_once`."""


class StopRequest:
    """Whether, and by which signal, the run was asked to stop."""

    signal: int | None = None
    _urgent = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, a request raises `Stopped` at once: for work that can be done again."""
        if self.signal is not None:
            raise Stopped
        self._urgent = True
        try:
            yield
        finally:
            self._urgent = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.signal = number
        if self._urgent:
            self._urgent = False
            raise Stopped


def known_signals() -> list[signal.Signals]:
    """Those of them that this system has."""
    return [signal.Signals[name] for name in POLITE if name in signal.Signals.__members__]


@contextmanager
def polite_stop(request: StopRequest) -> Iterator[StopRequest]:
    """Inside, these signals set the request; only the main thread of a program can hear them."""
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    old = {
        number: signal.signal(number, request.on_signal)
        for number in known_signals()
        if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield request
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def told_how_to_go_on(run: RunFolder, say: Say) -> Iterator[None]:
    """Around a training: what is left is said before the second Ctrl-C ends it."""
    try:
        yield
    except KeyboardInterrupt:
        steps = steps_saved(run.checkpoints)
        kept = f"step {steps[-1]:,} is saved" if steps else "no checkpoint was written yet"
        say(f"Stopped at once: {kept}, what came after it is done again.")
        say(f"Go on with: regard train --resume {typed(run.folder)}")
        raise
