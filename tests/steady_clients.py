"""Clients that ask again and again, and count what they hear, while servers come and go."""

import threading
import time
from collections import Counter
from typing import Any

import requests

from http_server import PATIENCE

ASKED = {"q": "They went to the bank.", "source": "en", "target": "de"}


class SteadyClients:
    """So many threads, each with a connection of its own, until the block ends."""

    def __init__(self, address: str, count: int) -> None:
        self.heard: Counter[Any] = Counter()  # statuses, or what went wrong instead
        self._address, self._over = address, threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]

    def __enter__(self) -> "SteadyClients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _ask(self) -> None:
        session = requests.Session()
        while not self._over.is_set():
            try:
                answer = session.post(f"{self._address}/translate", json=ASKED, timeout=PATIENCE)
                good = answer.status_code != 200 or answer.json()["translatedText"]
                heard = answer.status_code if good else "empty"
            except requests.RequestException as error:  # a request that was dropped
                heard = type(error).__name__
            with self._lock:
                self.heard[heard] += 1

    def wait_for(self, status: int, more: int, seconds: float = 10 * PATIENCE) -> None:
        """Until so many more answers of this status were heard."""
        most, end = self.heard[status] + more, time.monotonic() + seconds
        while self.heard[status] < most:
            assert time.monotonic() < end, dict(self.heard)
            time.sleep(0.1)
