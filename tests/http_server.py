"""A real `regard serve` on a free port of this machine, and plain ways to ask it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

# Minutes of work: nobody waits for it to be done.
SLOW = {"text": [f"We are {n}." for n in range(64)], "beam": 8, "min_length": 900}
SLOW["max_length"] = 1000
PATIENCE = 120.0  # seconds, on a machine that has other things to do


@dataclass
class RunningServer:
    """A server process; `errors` has what it says on standard error."""

    process: "subprocess.Popen[str]"
    address: str
    errors: list[str] = field(default_factory=list)
    first: str = ""  # the line that says where

    def post(self, path: str, body: Any = None, **options: Any) -> requests.Response:
        return requests.post(self.address + path, json=body, timeout=PATIENCE, **options)

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.address + path, timeout=PATIENCE, **options)

    def metric(self, name: str, **options: Any) -> float:
        """The first number of that name."""
        lines = self.get("/metrics", **options).text.splitlines()
        return float(next(line for line in lines if line.startswith(f"regard_{name}")).split()[-1])

    def wait_for(self, name: str, value: float, seconds: float = PATIENCE) -> None:
        """Until a metric has this value."""
        end = time.monotonic() + seconds
        while self.metric(name) != value:
            assert time.monotonic() < end, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.02)

    @contextmanager
    def held(self, path: str, body: Any) -> Iterator[socket.socket]:
        """A request whose client leaves when the block ends, without having read an answer."""
        host, port = self.address.removeprefix("http://").split(":")
        text = json.dumps(body)
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port)), PATIENCE) as line:
            line.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode())
            yield line

    def stop(self) -> int:
        """As a service manager does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(*arguments: str) -> Iterator[RunningServer]:
    """`regard serve` with these arguments, until the block ends."""
    command = [sys.executable, "-m", "regard", "serve", "--port", "0", *arguments]
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=quiet
    )
    server = RunningServer(process, "")
    assert process.stdout is not None and process.stderr is not None

    def hear(stream: Any) -> None:
        server.errors.extend(stream)

    listener = threading.Thread(target=hear, args=(process.stderr,), daemon=True)
    listener.start()
    try:
        line = process.stdout.readline()
        assert " at http" in line, f"{line}{''.join(server.errors)}"
        server.first, server.address = line, line.split(" at ")[-1].split()[0]
        yield server
    finally:
        server.stop()
        listener.join(5)


def free_port() -> int:
    """A port that was free a moment ago, for what cannot choose one by itself."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def events(response: requests.Response) -> list[Any]:
    """The server-sent events of an answer; the last one is "[DONE]"."""
    found = []
    for line in response.iter_lines(decode_unicode=True):
        if line:
            assert line.startswith("data: "), line
            text = line.removeprefix("data: ")
            found.append(text if text == "[DONE]" else json.loads(text))
    return found
