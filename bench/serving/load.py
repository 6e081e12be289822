"""Clients of a server, in a process of their own: how many answers a second, how long each took.

    python bench/serving/load.py http://127.0.0.1:8000 texts.txt --clients 64 --seconds 20

Closed: each client asks again when it has its answer. With --rate the load is open: requests begin
at that rate whatever becomes of them, which is how a server is overloaded. It speaks HTTP over
plain sockets, so that it costs little beside the server; its own CPU seconds are in the report.
"""

import argparse
import asyncio
import itertools
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

WARM = 0.1  # of the time, which is not counted


@dataclass
class Load:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[int, list[float]] = field(default_factory=dict)  # of each status

    def note(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        self.seconds.setdefault(status, []).append(seconds)

    def report(self, passed: float) -> dict[str, object]:
        good = sorted(self.seconds.get(200, []))
        refused = sorted(self.seconds.get(429, []))
        spent = os.times()
        return {
            "seconds": passed,
            "statuses": {str(status): count for status, count in self.statuses.items()},
            "per_second": len(good) / passed,
            "p50_ms": 1000 * percentile(good, 0.5),
            "p99_ms": 1000 * percentile(good, 0.99),
            "refused_p99_ms": 1000 * percentile(refused, 0.99),
            "cpu_seconds": spent.user + spent.system,
        }


def percentile(ordered: list[float], share: float) -> float:
    """The value that this share of the ordered ones is not above."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Client:
    """One connection, kept alive and opened again when it is closed."""

    def __init__(self, address: str, path: str) -> None:
        parts = urlsplit(address)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 80, path
        self._line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes) -> int:
        """The status of the answer, which is read whole."""
        if self._line is None:
            self._line = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._line
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        lines = answer.decode("latin-1").lower().split("\r\n")
        length = next(int(x.split(":")[1]) for x in lines if x.startswith("content-length:"))
        await reader.readexactly(length)
        if "connection: close" in lines:
            await self.close()
        return int(lines[0].split()[1])

    async def close(self) -> None:
        if self._line is not None:
            self._line[1].close()
            self._line = None


async def closed_load(
    address: str, path: str, bodies: list[bytes], clients: int, seconds: float
) -> dict[str, object]:
    """Each client asks again when it is answered."""
    load, warm, texts = Load(), Load(), itertools.cycle(bodies)
    begun = time.perf_counter()
    counted = begun + WARM * seconds
    end = begun + seconds

    async def work() -> None:
        client = Client(address, path)
        while (now := time.perf_counter()) < end:
            status = await client.ask(next(texts))
            (load if now >= counted else warm).note(status, time.perf_counter() - now)
        await client.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return load.report(time.perf_counter() - counted)


async def open_load(
    address: str, path: str, bodies: list[bytes], rate: float, seconds: float
) -> dict[str, object]:
    """Requests begin at this rate; idle connections are used again."""
    load, idle, texts = Load(), list[Client](), itertools.cycle(bodies)
    begun = time.perf_counter()

    async def one() -> None:
        client = idle.pop() if idle else Client(address, path)
        now = time.perf_counter()
        try:
            status = await client.ask(next(texts))
        except (OSError, asyncio.IncompleteReadError):
            status = 0
            await client.close()
        load.note(status, time.perf_counter() - now)
        idle.append(client)

    running = set()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        task = asyncio.create_task(one())
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    return load.report(time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("address")
    add("texts", type=Path, help="a text a line")
    add("--path", default="/v1/translate")
    add("--field", default="text", help="of the body, which holds the text (text)")
    add("--more", type=json.loads, default={}, help="the rest of the body, as JSON")
    add("--clients", type=int, default=8)
    add("--rate", type=float, help="requests a second, whatever becomes of them")
    add("--seconds", type=float, default=10)
    asked = parser.parse_args()
    lines = [x for x in asked.texts.read_text(encoding="utf-8").splitlines() if x.strip()]
    bodies = [json.dumps({asked.field: line, **asked.more}).encode() for line in lines]
    if asked.rate:
        told = asyncio.run(open_load(asked.address, asked.path, bodies, asked.rate, asked.seconds))
    else:
        told = asyncio.run(
            closed_load(asked.address, asked.path, bodies, asked.clients, asked.seconds)
        )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
