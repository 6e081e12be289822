"""An engine process, seen from the server: started, written to and read from by threads.

The event loop never waits for a pipe. What the process says, and that it is gone, is told to the
loop's thread.
"""

import asyncio
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict

from regard.serve.wire import WireMessage, WorkerSettings, as_line, read_message

CODE = "from regard.serve.worker import main; main()"
Hear = Callable[["EngineProcess", WireMessage], None]
Gone = Callable[["EngineProcess", int], None]


class EngineProcess:
    """One process with one model."""

    def __init__(
        self, settings: WorkerSettings, loop: asyncio.AbstractEventLoop, hear: Hear, gone: Gone
    ) -> None:
        self._loop, self._hear, self._gone = loop, hear, gone
        self._process = subprocess.Popen(
            # -P: a module called queue where the server was started is none of ours.
            [sys.executable, "-P", "-c", CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.send(asdict(settings))
        threading.Thread(target=self._write, daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: WireMessage) -> None:
        """Hand it over; one that is gone hears nothing."""
        self._outbox.put(as_line(message))

    def kill(self) -> None:
        """At once: it does not answer any more, or is not needed."""
        self._outbox.put(None)
        self._process.kill()

    def _write(self) -> None:
        assert self._process.stdin is not None
        while (line := self._outbox.get()) is not None:
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):  # it is gone, or being put away
                return

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._tell(self._hear, read_message(line))
        except ValueError:  # half a line: it was killed as it wrote
            self._process.kill()
        code = self._process.wait()
        self._outbox.put(None)
        self._tell(self._gone, code)

    def _tell(self, told: Callable[..., None], what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(told, self, what)
        except RuntimeError:  # the server has ended
            return
