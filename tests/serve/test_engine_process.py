"""Engine processes that end badly: half a line, a replacement that cannot begin, strange folders.

The processes are real; what they run is a few lines instead of a model.
"""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from http_server import PATIENCE
from regard.serve import engine_process
from regard.serve.engine_process import EngineProcess
from regard.serve.options import ServeOptions, model_to_serve
from regard.serve.pool import ServedModel
from regard.serve.refusal import HttpRefusal
from regard.serve.wire import WireMessage, settings_for

OPTIONS = ServeOptions((model_to_serve("demo-de"),))
FACTS = {"tasks": ["translate"], "engine": "none", "exact": True}
SAYING = f"""
import json, os, sys
def say(**message): os.write(1, json.dumps(message).encode() + b"\\n")
sys.stdin.readline()
facts = {FACTS!r}
"""


async def told(code: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[WireMessage], int]:
    """All that a process says which runs this, and how it ends."""
    monkeypatch.setattr(engine_process, "CODE", SAYING + code)
    said: list[WireMessage] = []
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[int] = loop.create_future()
    EngineProcess(
        settings_for(OPTIONS, OPTIONS.models[0]),
        loop,
        lambda process, message: said.append(message),
        lambda process, code: gone.set_result(code),
    )
    return said, await asyncio.wait_for(gone, PATIENCE)


def test_one_that_dies_in_the_middle_of_a_line_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    code = 'say(ready=facts); os.write(1, b\'{"id": 1, "answ\'); os.kill(os.getpid(), 9)'
    said, ended = asyncio.run(told(code, monkeypatch))
    assert said == [{"ready": FACTS}] and ended == -9


def test_files_where_the_server_was_started_are_not_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trapdoor.py").write_text("")
    code = "import importlib.util; say(ready=importlib.util.find_spec('trapdoor') is not None)"
    said, _ = asyncio.run(told(code, monkeypatch))
    assert said == [{"ready": False}]


async def until(fulfilled: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not fulfilled():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_a_replacement_that_cannot_begin_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first process is ready and dies; every later one says that it failed, and stays."""
    first = json.dumps(str(tmp_path / "first"))
    code = f"""
if os.path.exists({first}):
    say(failed=dict(status=500, message="its file is gone"))
    sys.stdin.read()
open({first}, "w").close()
say(ready=facts)
sys.stdin.readline()
"""
    monkeypatch.setattr(engine_process, "CODE", SAYING + code)

    async def lived() -> None:
        model = ServedModel(OPTIONS, OPTIONS.models[0])
        await model.start()
        assert model.is_ready
        with pytest.raises(HttpRefusal) as late:  # which is also what ends the first process
            await model.answer("translate", {"texts": ["a"]}, 1.0)
        assert late.value.status == 503
        await until(lambda: "its file is gone" in capfd.readouterr().err)
        assert not model.is_ready and model.deaths == 1 and not model.admission.requests
        model.stop()

    asyncio.run(lived())


def test_one_that_cannot_begin_at_all_is_an_error_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code = 'say(failed=dict(status=500, message="no such model"))'
    monkeypatch.setattr(engine_process, "CODE", SAYING + code)

    async def begun() -> ServedModel:
        model = ServedModel(OPTIONS, OPTIONS.models[0])
        with pytest.raises(HttpRefusal, match="no such model"):
            await model.start()
        await asyncio.sleep(0.3)
        return model

    model = asyncio.run(begun())
    assert not model.deaths and "engine process" not in capfd.readouterr().err


def test_a_short_deadline_of_a_client_ends_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent one is ended by the server's deadline, not by X-Deadline: 0.001."""
    monkeypatch.setattr(engine_process, "CODE", f"{SAYING}say(ready=facts)\nsys.stdin.read()")

    async def lived() -> int:
        model = ServedModel(OPTIONS, OPTIONS.models[0])
        await model.start()
        for _ in range(3):
            with pytest.raises(HttpRefusal) as late:
                await model.answer("translate", {"texts": ["a"]}, 0.001)
            assert late.value.code == "deadline"
        await asyncio.sleep(0.2)
        model.stop()
        return model.deaths

    assert asyncio.run(lived()) == 0
