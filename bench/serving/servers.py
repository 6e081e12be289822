"""Servers as processes: started, watched for what they cost, ended."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from child import ENVIRONMENT

LOAD = Path(__file__).parent / "load.py"


@dataclass(frozen=True)
class Started:
    """A server that says it is ready."""

    address: str
    process: psutil.Process
    said: str  # the line that says where

    def cpu_seconds(self) -> tuple[float, float]:
        """Of the server, and of its engine processes."""

        def spent(process: psutil.Process) -> float:
            times = process.cpu_times()
            return float(times.user + times.system)

        return spent(self.process), sum(map(spent, self.process.children()))

    def megabytes(self) -> float:
        """Of memory, all processes together."""
        whole = [self.process, *self.process.children()]
        return sum(one.memory_info().rss for one in whole) / 1e6


@contextmanager
def started(*command: str, python: str = sys.executable) -> Iterator[Started]:
    """A Python command that prints `… at http://…` when it is ready."""
    process = subprocess.Popen(
        [python, *command], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if " at http" not in line:
            raise RuntimeError(f"{command}: did not begin")
        address = line.split(" at ")[-1].split()[0]
        yield Started(address, psutil.Process(process.pid), line)
    finally:
        process.terminate()
        process.wait(60)


def loaded(server: Started, texts: Path, *options: str) -> dict[str, Any]:
    """One load on a server: what the clients saw, and what it cost whom."""
    before = server.cpu_seconds()
    command = [sys.executable, str(LOAD), server.address, str(texts), *options]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    after = server.cpu_seconds()
    told: dict[str, Any] = json.loads(done.stdout)
    told["server_cpu_seconds"] = after[0] - before[0]
    told["engine_cpu_seconds"] = after[1] - before[1]
    told["megabytes"] = server.megabytes()
    return told
