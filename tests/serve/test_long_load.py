"""A server under load for a long time, and with four times as much as it can take.

In full in `make test-long`: half an hour, and a minute. REGARD_SOAK_MINUTES makes it another time.
Rates are compared with the same server's own on the same machine; a machine that does other
things meanwhile may fail these two tests.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

import folders
import regard
from http_server import PATIENCE, RunningServer, serving

pytestmark = [pytest.mark.end_to_end, pytest.mark.long]
MINUTES = float(os.environ.get("REGARD_SOAK_MINUTES", "30"))
TEXTS = [
    "How are you?",
    "They went to the bank to feed the ducks.",
    "The animal didn't cross the street because it was too tired.",
    "I like eating ice-cream.",
    "Thank you. We are friends. He sat on the bank of the river.",
]


def memory_of(server: RunningServer) -> float:
    """Megabytes of the server and its engine processes."""
    process = psutil.Process(server.process.pid)
    return sum(one.memory_info().rss for one in (process, *process.children())) / 1e6


def slope(points: list[tuple[float, float]]) -> float:
    """Of the straight line with the least squares through (x, y)."""
    middle_x = statistics.fmean(x for x, _ in points)
    middle_y = statistics.fmean(y for _, y in points)
    above = sum((x - middle_x) * (y - middle_y) for x, y in points)
    return above / sum((x - middle_x) ** 2 for x, _ in points)


def one_of_many(server: RunningServer, session: requests.Session, chance: random.Random) -> Any:
    """A request of a random kind; one in ten is left before its answer, one in ten is refused."""
    text, kind = chance.choice(TEXTS), chance.randrange(10)
    asked: dict[str, Any] = {"text": text}
    if kind == 0:  # the client has gone
        with server.held("/v1/translate", asked | {"beam": 4}):
            return "left"
    if kind == 1:
        answer = session.post(f"{server.address}/v1/translate", json={"txt": text})
        return answer.status_code
    path = "/v1/translate"
    if kind == 2:
        asked |= {"stream": True}
    elif kind == 3:
        path, asked = "/v1/completions", {"model": "gpt2", "prompt": "the cat", "max_tokens": 8}
    elif kind == 4:
        path, asked = "/v1/classify", {"text": ["the cat sat", "a bad dog"]}
    elif kind == 5:
        path, asked = "/translate", {"q": f"<p>{text}</p>", "source": "en", "target": "de"}
        asked |= {"format": "html"}
    elif kind == 6:
        asked |= {"n_best": 3, "beam": 4}
    elif kind == 7:
        asked |= {"beam": 1, "temperature": 0.8, "seed": chance.randrange(1000)}
    elif kind == 8:
        path, asked = "/languages", {}
        return session.get(f"{server.address}{path}", timeout=PATIENCE).status_code
    return session.post(f"{server.address}{path}", json=asked, timeout=PATIENCE).status_code


def test_memory_does_not_grow(tmp_path: Path) -> None:
    """Eight clients with requests of every kind: no 5xx, and afterwards the offline answers.

    The first third is not counted: caches of kernels and of the allocator are filled then.
    """
    folders.gpt2(tmp_path / "gpt2")
    folders.bert(tmp_path / "classes", "SequenceClassification", id2label=folders.LABELS)
    models = ("demo-de", str(tmp_path / "gpt2"), str(tmp_path / "classes"))
    heard: Counter[Any] = Counter()
    with serving(*models, "--engine", "torch", "--log", "off") as server:
        begun = time.monotonic()
        end = begun + 60 * MINUTES

        def client(number: int) -> None:
            session, chance = requests.Session(), random.Random(number)
            while time.monotonic() < end:
                heard[one_of_many(server, session, chance)] += 1

        points: list[tuple[float, float]] = []
        with ThreadPoolExecutor(8) as pool:
            working = [pool.submit(client, number) for number in range(8)]
            while time.monotonic() < end:
                time.sleep(min(5.0, max(0.1, end - time.monotonic())))
                points.append((sum(heard.values()), memory_of(server)))
            for one in working:
                one.result()
        later = points[len(points) // 3 :]
        growth = 10_000 * slope(later)
        print(f"{dict(heard)}; {later[0][1]:.0f} to {later[-1][1]:.0f} MB, {growth:.2f} a 10,000")
        assert set(heard) == {200, 422, "left"}, dict(heard)
        server.wait_for("requests_under_way", 0)
        assert not server.metric("engine_deaths")
        tens_of_thousands = (later[-1][0] - later[0][0]) / 10_000
        # A megabyte for each, or two in all: of fewer requests a slope says little.
        assert growth * tens_of_thousands <= max(2.0, tens_of_thousands), points
        offline = regard.load("demo-de", "cpu", engine="torch")
        texts = [f"{first} {second}" for first in TEXTS for second in TEXTS]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda text: translated(server, text), texts * 4))
        assert answers == offline.translate(texts) * 4


def translated(server: RunningServer, text: str) -> str:
    answer = server.post("/v1/translate", {"text": text}).json()
    return str(answer["texts"][0]["translations"][0]["text"])


def test_four_times_too_much_costs_little(repository: Path, tmp_path: Path) -> None:
    """Goodput is 95 % of capacity, what is taken on is done in time, the rest is told at once."""
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS) + "\n")

    def load(server: RunningServer, *options: str) -> dict[str, Any]:
        command = [sys.executable, str(repository / "bench/serving/load.py"), server.address]
        done = subprocess.run(
            [*command, str(texts), *options], capture_output=True, text=True, check=True
        )
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    deadline = 10.0
    options = ("--engine", "torch", "--log", "off", "--deadline", str(deadline))
    with serving("demo-de", *options) as server:
        load(server, "--clients", "8", "--seconds", "3")
        usual = load(server, "--clients", "64", "--seconds", "20")
        before = memory_of(server)
        rate = 4 * usual["per_second"]
        over = load(server, "--rate", f"{rate:.1f}", "--seconds", "60")
        print(usual, over, before, memory_of(server))
        assert set(over["statuses"]) == {"200", "429"}, over["statuses"]
        assert over["per_second"] >= 0.95 * usual["per_second"]
        assert over["p99_ms"] <= 1000 * deadline
        assert over["refused_p99_ms"] <= 50
        assert memory_of(server) <= 1.05 * before
