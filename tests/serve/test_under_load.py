"""Overload, clients that leave, engines that die, deadlines, and the end of a server."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
import requests

from http_server import PATIENCE, SLOW, RunningServer, serving
from regard.engines.engines import EngineRequest
from regard.serve.lifecycle import run_server
from regard.serve.options import ServeOptions, model_to_serve

pytestmark = pytest.mark.end_to_end
SHORTER = SLOW | {"text": "How are you?", "min_length": 300, "max_length": 310}  # some seconds
LIMITS = ("--max-requests", "4", "--deadline", "300")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving("demo-de", "--engine", "torch", *LIMITS) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_its_place(stream: bool, server: RunningServer) -> None:
    with server.held("/v1/translate", SLOW | {"stream": stream}):
        server.wait_for("requests_under_way", 1)
        server.wait_for("sentences_running", 64)
    server.wait_for("requests_under_way", 0)
    server.wait_for("sentences_running", 0)  # in minutes, if they went on
    assert server.post("/v1/translate", {"text": "Thank you."}).status_code == 200


def test_a_client_that_leaves_in_the_middle_of_a_stream_frees_its_place(
    server: RunningServer,
) -> None:
    texts = ["Thank you.", *SLOW["text"]]
    with server.held("/v1/translate", {"text": texts, "stream": True, "n_best": 8}) as line:
        heard = b""
        while b"data: " not in heard:
            heard += line.recv(4096)
    server.wait_for("requests_under_way", 0)
    server.wait_for("sentences_running", 0)


def test_beyond_the_limits_429_and_when_to_try_again(server: RunningServer) -> None:
    with ExitStack() as held:
        for number in range(4):
            body = SLOW | {"text": f"We are {number}."}
            held.enter_context(server.held("/v1/translate", body))
        server.wait_for("requests_under_way", 4)
        refused = server.post("/v1/translate", {"text": "Thank you."})
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"]["code"] == "busy"
    server.wait_for("requests_under_way", 0)
    assert server.post("/v1/translate", {"text": "Thank you."}).status_code == 200


def test_a_deadline_ends_a_request(server: RunningServer) -> None:
    late = server.post("/v1/translate", SLOW, headers={"X-Deadline": "0.3"})
    assert late.status_code == 503 and late.json()["error"]["code"] == "deadline"
    wrong = server.post("/v1/translate", SLOW, headers={"X-Deadline": "soon"})
    assert wrong.status_code == 400
    server.wait_for("sentences_running", 0)


def engine_of(server: RunningServer) -> psutil.Process:
    (engine,) = psutil.Process(server.process.pid).children()
    return engine


def test_an_engine_that_is_killed_is_replaced_and_nobody_hangs(server: RunningServer) -> None:
    deaths = server.metric("engine_deaths")
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.post, "/v1/translate", {"text": "Thank you."}) for _ in range(2)
        ]
        slow = pool.submit(server.post, "/v1/translate", SHORTER)
        server.wait_for("sentences_running", 1)
        engine_of(server).send_signal(signal.SIGKILL)
        assert server.get("/healthz").status_code == 200
        assert {one.result().status_code for one in [*asked, slow]} <= {200, 503}
    assert slow.result().status_code == 200  # it was asked again
    assert server.metric("engine_deaths") == deaths + 1
    assert server.get("/readyz").status_code == 200
    assert server.post("/v1/translate", {"text": "Thank you."}).status_code == 200


def test_what_was_taken_on_is_answered_before_the_end() -> None:
    patient = ("--drain", "300", "--deadline", "300")
    with serving("demo-de", "--engine", "torch", *patient) as server, ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(server.post, "/v1/translate", SHORTER) for _ in range(3)]
        server.wait_for("requests_under_way", 3)
        session = requests.Session()
        assert session.get(server.address + "/readyz").status_code == 200
        os.kill(server.process.pid, signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while session.get(server.address + "/readyz").status_code == 200:
            assert time.monotonic() < end
        refused = session.post(server.address + "/v1/translate", json={"text": "Thank you."})
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "draining"
        assert [one.result().status_code for one in slow] == [200, 200, 200]
        assert server.process.wait(PATIENCE) == 0


def test_what_is_not_answered_in_time_for_the_end_hears_so() -> None:
    options = ("--engine", "torch", "--drain", "0.2", "--deadline", "300")
    with serving("demo-de", *options) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(server.post, "/v1/translate", SLOW)
        server.wait_for("requests_under_way", 1)
        os.kill(server.process.pid, signal.SIGTERM)
        assert slow.result().status_code == 503
        assert slow.result().json()["error"]["code"] == "draining"
        assert server.process.wait(PATIENCE) == 0


def test_the_line_that_says_where_is_true_when_it_is_said() -> None:
    """Whoever reads it may ask at once: CI did, and was refused."""

    def ask(address: str, line: str) -> None:
        assert address in line
        host, port = address.removeprefix("http://").split(":")
        socket.create_connection((host, int(port)), 5).close()
        os.kill(os.getpid(), signal.SIGTERM)

    options = ServeOptions((model_to_serve("demo-de"),), port=0, engine=EngineRequest("torch"))
    run_server(options, ask)


def test_no_engine_outlives_its_server() -> None:
    with serving("demo-de", "--engine", "torch") as server:
        engine = engine_of(server)
        server.process.kill()
        engine.wait(PATIENCE)


def test_a_server_that_cannot_begin_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="(?s)regard: .*nowhere"), serving("nowhere"):
        pass
