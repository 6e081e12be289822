"""A converted model is served by ctranslate2: short batches, and no torch in any process."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

import regard
from http_server import serving
from refusals import refused
from regard.bundle.bundle import open_bundle
from regard.decode.engine import Layout
from regard.decode.options import DecodingOptions
from regard.engines import engines
from regard.errors import MisuseError
from regard.processor.machine import Machine, this_machine
from regard.serve.batcher import LibraryThreads, Search

TEXTS = ["red cat", "one blue dog", "two trees", "the red house", "a", "sea bird cat dog"]


@pytest.mark.end_to_end
@pytest.mark.needs("ctranslate2")
@pytest.mark.skipif(not find_spec("ctranslate2"), reason="ctranslate2 is not installed")
def test_no_process_of_the_server_has_torch(toy_run: Path) -> None:
    model = regard.load(toy_run, "cpu", engine="ctranslate2", precision="fp32")
    expected = model.translate(TEXTS)  # which also makes the engine's files, with torch
    options = ("--engine", "ctranslate2", "--precision", "fp32", "--name", f"en-de={toy_run}")
    with serving(*options) as server, ThreadPoolExecutor(8) as pool:

        def ask(text: str) -> str:
            answer = server.post("/translate", {"q": text, "source": "en", "target": "de"})
            assert answer.headers["regard-exact"] == "no", answer.text
            return str(answer.json()["translatedText"])

        assert list(pool.map(ask, TEXTS * 4)) == expected * 4
        server_process = psutil.Process(server.process.pid)
        for process in (server_process, *server_process.children()):
            mapped = [each.path for each in process.memory_maps()]
            assert mapped and not [path for path in mapped if "libtorch" in path]
        assert server.get("/v1/models").json()["data"][0]["engine"].startswith("ctranslate2 fp32")


@pytest.mark.end_to_end
@pytest.mark.needs("ctranslate2")
@pytest.mark.skipif(not find_spec("ctranslate2"), reason="ctranslate2 is not installed")
def test_without_torch_what_was_chosen_on_such_a_processor_is_taken(
    toy_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more cores or fewer; on another processor nothing is, since nothing can be compared."""
    regard.load(toy_run, "cpu", engine="ctranslate2", precision="fp32").translate("red cat")
    choice = open_bundle(toy_run).choice
    assert choice is not None
    monkeypatch.setattr(engines, "find_spec", lambda name: name != "torch" or None)

    def taken_of(machine: Machine) -> str:
        model = regard.load(toy_run, "cpu", precision="fp32", engine="ctranslate2")
        model.engines._choice = replace(choice, machine=machine)
        return model.engines.take(DecodingOptions(beam=1)).name

    here = this_machine()
    assert taken_of(here) == taken_of(replace(here, cores=99)) == "ctranslate2"
    with refused(MisuseError, subject="engine", problem="another processor, Z80"):
        taken_of(Machine("Z80", 1))
    model = regard.load(toy_run, "cpu", engine="torch")
    with refused(MisuseError, subject="torch", problem="is not installed"):
        model.engines.take(DecodingOptions(beam=1))


class Counted:
    """An engine that only says how many rows it was given at once."""

    name, layout = "ctranslate2", Layout(workers=0, batch=4)


def search(length: int, **options: object) -> Search:
    decoding = DecodingOptions(**options)  # type: ignore[arg-type]
    nobody = [].append
    return Search(ENGINE, list(range(length)), decoding, nobody, nobody)  # type: ignore[arg-type]


ENGINE = Counted()


def test_a_batch_has_the_oldest_and_those_like_it() -> None:
    threads = LibraryThreads(ENGINE)  # type: ignore[arg-type]
    waiting = [search(n) for n in (20, 100, 22, 18, 35, 90, 24, 21)]
    taken = threads._alike(waiting)
    assert [len(each.row) for each in taken] == [20, 22, 18, 35]  # four at most
    taken = threads._alike(waiting[1:])
    assert [len(each.row) for each in taken] == [100, 90]
    other = [search(20), search(20, beam=2), search(21)]
    assert [len(each.row) for each in threads._alike(other)] == [20, 21]
    alone = [search(20), search(20)]
    alone[0].token = lambda token: False
    assert threads._alike(alone) == alone[:1]
    assert len(threads._alike([search(8000), search(8000)])) == 1
