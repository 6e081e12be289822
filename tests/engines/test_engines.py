"""Which engine is taken, what is kept beside a run, and when it is made again."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

import folders
import regard
from regard.answer.loaded import open_model
from regard.answer.weights import read_transformer
from regard.bundle import engine_choice as choice
from regard.bundle.bundle import open_bundle
from regard.bundle.engine_choice import read_choice, write_choice
from regard.checkpoint import published
from regard.checkpoint.files import read_own_json
from regard.checksums import sha256
from regard.decode.engine import Hypothesis, Layout
from regard.decode.options import DecodingOptions
from regard.engines import autotune, engines
from regard.engines.agreement import compare_texts, compare_tokens
from regard.engines.autotune import layouts_for
from regard.engines.engines import PREPARING, EngineRequest, describe
from regard.engines.work import Translating
from regard.errors import MisuseError, RegardError
from regard.processor.machine import Machine, cores, this_machine
from regard.runs.folder import RunFolder, write_own_json

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("ctranslate2")]
pytest.importorskip("ctranslate2")

GREEDY = DecodingOptions(beam=1)


@pytest.fixture(scope="module")
def tuned(toy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the toy run whose choice is made; one layout, so that it takes a moment."""
    run = tmp_path_factory.mktemp("tuned") / "run"
    shutil.copytree(toy_run, run, ignore=shutil.ignore_patterns("engines", "checkpoints"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(autotune, "layouts_for", lambda count: [(count, 1)])
        said: list[str] = []
        taken = open_model(run, "cpu", say=said.append).engines
        taken.take(GREEDY)
        taken.close()
    assert said == [PREPARING]
    return run


@pytest.fixture
def run(tuned: Path, tmp_path: Path) -> Path:
    shutil.copytree(tuned, tmp_path / "run")
    return tmp_path / "run"


def never(*_: object) -> Any:
    raise AssertionError("must not be called")


def test_a_choice_is_kept_and_used_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = json.loads((run / "engines/choice.json").read_text())
    assert kept["checks"]["ctranslate2 fp32"]["passed"]
    assert kept["checks"]["ctranslate2 fp32"]["sentences"] >= 10
    assert set(kept["speeds"]) >= {"torch fp32", "ctranslate2 fp32"}
    assert kept["weights"] == json.loads((run / "model.json").read_text())["sha256"]
    fastest = max(kept["speeds"], key=lambda name: kept["speeds"][name])
    assert f"{kept['engine']} {kept['precision']}" == fastest
    monkeypatch.setattr(autotune, "autotune", never)
    taken = open_model(run, "cpu", say=never).engines
    engine = taken.take(GREEDY)
    assert f"{engine.name} {engine.layout.precision}" == fastest
    assert taken.notes == [f"engine: {describe(engine)}"]


def test_the_stored_choice_needs_no_torch(run: Path) -> None:
    """A whole command, in a process of its own."""
    change(run, engine="ctranslate2", precision="fp32")
    code = (
        "import sys; from regard.cli.main import group;"
        "group(['translate', sys.argv[1], 'red cat'], standalone_mode=False);"
        "assert 'torch' not in sys.modules and 'ctranslate2' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = regard.load(run, "cpu", engine="torch").translate("red cat")
    assert done.stdout == f"{expected}\n"


def change(run: Path, **changes: Any) -> None:
    known = read_choice(run, [run / "model.safetensors"])
    assert known is not None
    write_choice(run, replace(known, **changes))


def test_other_weights_other_versions_and_a_broken_file_are_made_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = [run / "model.safetensors"]
    assert read_choice(run, weights) is not None
    shutil.copyfile(weights[0], run / "copy")  # the same bytes with another time
    (run / "copy").rename(weights[0])
    assert read_choice(run, weights) is not None
    with monkeypatch.context() as patch:  # and the new time is noted: nothing is read again
        patch.setattr(choice, "digest", never)
        assert read_choice(run, weights) is not None
    weights[0].write_bytes(weights[0].read_bytes()[:-1] + b"\x07")
    assert read_choice(run, weights) is None
    run_again = run / "engines/choice.json"
    for content in ("", "[]", "{}", '{"format": 1}', run_again.read_text().replace('": 1', '": 0')):
        run_again.write_text(content)
        assert read_choice(run, weights) is None


def test_versions_are_part_of_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "versions", lambda: {"regard": "9", "ctranslate2": "9"})
    assert read_choice(run, [run / "model.safetensors"]) is None


@pytest.mark.needs("int8")
def test_another_machine_measures_the_layout_only(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is faster there, the precision stays: today's answer is tomorrow's."""
    change(run, machine=Machine("another", 64), engine="ctranslate2", precision="int8")
    monkeypatch.setattr(Translating, "compared", never)
    monkeypatch.setattr(autotune, "layouts_for", lambda count: [(1, 1)])
    monkeypatch.setattr(
        autotune, "_speed", lambda engine, *_: 9.0 if engine.name == "torch" else 1.0
    )
    engine = open_model(run, "cpu").engines.take(GREEDY)
    assert (engine.name, engine.layout.precision) == ("ctranslate2", "int8")
    kept = read_choice(run, [run / "model.safetensors"])
    assert kept is not None and kept.machine == this_machine()
    assert kept.layouts["ctranslate2 int8"] == Layout("int8", 1, 1)
    assert "ctranslate2 fp32" in kept.checks


def test_a_folder_that_cannot_be_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(run / "engines")
    monkeypatch.setattr(engines.os, "access", lambda path, mode: False)
    taken = open_model(run, "cpu").engines
    assert taken.take(GREEDY).name == "torch"
    assert "cannot be written to" in taken.notes[0]
    assert not (run / "engines").exists()


def test_without_the_library(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = engines.find_spec
    monkeypatch.setattr(engines, "find_spec", lambda x: None if x == "ctranslate2" else there(x))
    taken = open_model(run, "cpu").engines
    assert taken.take(GREEDY).name == "torch"
    install = r"ctranslate2 is not installed; pip install 'regard\[fast\]'"
    with pytest.raises(MisuseError, match=install):
        open_model(run, "cpu", EngineRequest("ctranslate2")).engines.take(GREEDY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length_norm": "paper"}, 'length_norm "paper"'),
        ({"stop": "exact"}, 'stop "exact"'),
        ({"beam": 1, "temperature": 1.0}, "sampling"),
        ({"coverage": 0.2}, "a coverage penalty"),
    ],
)
def test_an_option_that_one_engine_lacks(run: Path, options: dict[str, Any], words: str) -> None:
    """auto takes the other one; an engine named by the user says so."""
    change(run, engine="ctranslate2", precision="fp32")
    search = DecodingOptions(**options)
    taken = open_model(run, "cpu").engines
    assert taken.take(GREEDY).name == "ctranslate2"
    assert taken.take(search).name == "torch"
    assert f"torch, because ctranslate2 does not offer {words}" in taken.notes[1]
    with pytest.raises(MisuseError, match="engine: ctranslate2 does not offer"):
        open_model(run, "cpu", EngineRequest("ctranslate2")).engines.take(search)


@pytest.mark.needs("bf16", "int8")
def test_what_was_asked_for_is_done(run: Path) -> None:
    asked = EngineRequest("ctranslate2", "int8", workers=1, threads=1)
    layout = open_model(run, "cpu", asked).engines.take(GREEDY).layout
    assert (layout.precision, layout.workers, layout.threads) == ("int8", 1, 1)
    half = open_model(run, "cpu", EngineRequest("torch", "bf16")).engines.take(GREEDY)
    assert (half.name, half.layout.precision) == ("torch", "bf16")
    assert (
        open_model(run, "cpu", EngineRequest(precision="bf16")).engines.take(GREEDY).name == "torch"
    )


def test_a_shortlist_is_learned_once(run: Path) -> None:
    asked = EngineRequest("ctranslate2", "fp32", shortlist=True)
    taken = open_model(run, "cpu", asked).engines
    rows = taken.bundle.codec.encode(["red cat", "two birds"])
    found = taken.take(GREEDY).submit(rows, GREEDY)()
    assert len(found) == 2 and found[0][0].ids
    learned = run / "engines/ctranslate2-fp32/vmap.txt"
    before = learned.stat().st_mtime_ns
    open_model(run, "cpu", asked).engines.take(GREEDY)
    assert learned.stat().st_mtime_ns == before
    shutil.rmtree(run / "data/train")
    learned.unlink()
    with pytest.raises(MisuseError, match="--shortlist: .* has no training pairs"):
        open_model(run, "cpu", asked).engines.take(GREEDY)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"engine": "marian"}, "engine: got 'marian', expected one of auto, torch, ctranslate2"),
        ({"precision": "fp8"}, "precision: got 'fp8'"),
        ({"workers": 0}, "workers: got 0"),
        ({"engine": "torch", "precision": "int8"}, "torch does not offer precision int8"),
        ({"engine": "torch", "shortlist": True}, "torch does not offer a shortlist"),
        ({"engine": "ctranslate2", "precision": "bf16"}, "bf16 is torch's"),
    ],
)
def test_impossible_wishes_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        EngineRequest(**wrong)


def test_a_run_that_is_not_finished_keeps_nothing(toy_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(toy_run, run, ignore=shutil.ignore_patterns("engines"))
    RunFolder(run).update_info(state="stopped")
    taken = open_model(run, "cpu").engines
    assert taken.take(GREEDY).name == "torch"
    assert taken.notes[0] == "torch, because the run is not finished"
    assert not (run / "engines").exists()


def test_weights_whose_numbers_overflow_are_named(run: Path) -> None:
    """A search whose scores are all NaN finds no output, while engines are compared as later."""
    weights = load_file(run / "model.safetensors")
    huge = {name: weights[name] * 1e38 for name in weights if name.endswith("outer.weight")}
    save_file(weights | huge, run / "model.safetensors")
    info = read_own_json(run / "model.json")
    write_own_json(run / "model.json", info | {"sha256": sha256(run / "model.safetensors")})
    taken = open_model(run, "cpu").engines
    assert taken.take(GREEDY).name == "torch"
    assert "no output for a sentence: the model's weights are damaged" in taken.notes[0]
    with pytest.raises(RegardError, match="NaN"):
        regard.load(run).translate("rot")


def test_two_processes_at_once(run: Path) -> None:
    """One makes the choice, the other waits and uses it; both answer."""
    shutil.rmtree(run / "engines")
    code = (
        "import sys; from regard.engines import autotune;"
        "autotune.layouts_for = lambda n: [(1, 1)];"
        "from regard.cli.main import group;"
        "group(['translate', sys.argv[1], 'red cat'], standalone_mode=False)"
    )
    start = [sys.executable, "-c", code, str(run)]
    both = [subprocess.Popen(start, stdout=-1, stderr=-1, text=True) for _ in range(2)]
    outputs = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0] != ""
    # A slow machine shows its progress after that line.
    assert sorted(error.partition("\n")[0] for _, error in outputs) == ["", PREPARING]


def test_a_published_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its choice lies in its folder, and the next command reads no weights and no config."""
    folder = tmp_path / "marian"
    folders.marian(folder)
    monkeypatch.setattr(autotune, "layouts_for", lambda count: [(1, 1)])
    texts = ["the cat sat on the red mat.", "a dog"]
    options: dict[str, Any] = {"beam": 3, "n_best": 3, "stop": "first-k"}
    model = regard.load(folder, "cpu", engine="ctranslate2", precision="fp32")
    found = model.translations(texts, **options)
    expected = regard.load(folder, "cpu", engine="torch").translations(texts, **options)
    assert [[a.ids for a in row] for row in found] == [[a.ids for a in row] for row in expected]
    assert (folder / "engines/ctranslate2-fp32/model.bin").is_file()
    change(folder, engine="ctranslate2", precision="fp32")
    monkeypatch.setattr(published, "check_published", never)
    monkeypatch.setattr(published, "load_published", never)
    opened = open_model(folder, "cpu")
    assert opened.bundle.limit == 64 and opened.bundle.settings == model.bundle.settings
    assert opened.translator.translations(texts, **options)[0][0].ids == expected[0][0].ids
    assert "spec" not in vars(opened.bundle) and "transformer" not in vars(opened)


def hypotheses(*rows: tuple[int, ...], score: float = -1.0) -> list[Hypothesis]:
    return [Hypothesis(row, score, score, True) for row in rows]


def test_agreement_in_tokens() -> None:
    """99 of 100 are enough only where the hundredth is a tie."""
    same = [(n,) for n in range(99)]
    expected = hypotheses(*same, (5, 6))
    assert compare_tokens(expected, hypotheses(*same, (5, 6))).passed
    assert compare_tokens(expected, hypotheses(*same, (6, 5))).passed
    apart = [*hypotheses(*same), *hypotheses((6, 5), score=-1.001)]
    assert not compare_tokens(expected, apart).passed
    assert not compare_tokens(expected[50:], hypotheses(*same, (6, 5))[50:]).passed


def test_agreement_in_bleu(run: Path) -> None:
    codec = open_bundle(run).codec
    texts = ["rot Katze blau Hund eins", "zwei Haus drei Baum grün", "Meer Vogel rot Hund zwei"]
    expected = hypotheses(*(tuple(codec.encode_target(text)) for text in texts))
    worse = [*expected[:2], *hypotheses(tuple(codec.encode_target("Meer Vogel rot Hund drei")))]
    assert compare_texts(codec, expected, expected, texts).bleu == pytest.approx(100)
    assert not compare_texts(codec, expected, worse, texts).passed
    assert compare_texts(codec, worse, expected, texts).passed  # better is no fault
    assert compare_texts(codec, expected, expected, []).passed
    assert not compare_texts(codec, expected, worse, []).passed


def test_layouts_make_up_the_cores() -> None:
    for count in range(1, 20):
        found = layouts_for(count)
        assert all(workers * threads == count for workers, threads in found)
        assert len(set(found)) == sum(count % n == 0 for n in range(1, count + 1))


WRONG = {
    "layouts": [[], {"torch fp32": 1}],
    "machine": [3, {"cpu": 1, "cores": 2}],
    "limit": ["9", -1, True, [1]],
    "vocabulary": ["8000", None],
    "versions": [3, None, []],
    "stamps": [3, {}],
    "checks": [3, {"ctranslate2 fp32": 1}],
    "speeds": [[]],
    "engine": [[], {}],
    "weights": [None],
}


def test_a_choice_of_another_shape_is_none(run: Path) -> None:
    """In a process of its own: here the type checker of the tests would answer first."""
    code = (
        "import json, sys; from pathlib import Path\n"
        "from regard.bundle.engine_choice import read_choice\n"
        "run = Path(sys.argv[1]); file = run / 'engines/choice.json'\n"
        "good = json.loads(file.read_text())\n"
        "assert read_choice(run, [run / 'model.safetensors']) is not None\n"
        "for name, values in json.loads(sys.argv[2]).items():\n"
        "    for value in values:\n"
        "        file.write_text(json.dumps(good | {name: value}))\n"
        "        found = read_choice(run, [run / 'model.safetensors'])\n"
        "        assert found is None, (name, value)\n"
    )
    command = [sys.executable, "-c", code, str(run), json.dumps(WRONG)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("left", [0, 5, 1000, -1])
def test_a_truncated_file_is_made_again(run: Path, left: int) -> None:
    file = run / "engines/ctranslate2-fp32/model.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[:left])
    taken = open_model(run, "cpu", EngineRequest(engine="ctranslate2", precision="fp32")).engines
    assert taken.take(GREEDY).name == "ctranslate2"
    assert file.read_bytes() == whole


def test_without_a_probe_torch_is_taken(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = open_bundle(run)
    monkeypatch.setattr(Translating, "rows", lambda work: [])
    made = autotune.autotune(bundle, lambda: read_transformer(bundle))
    assert made.engine == "torch" and "no sentence on which" in made.reason
    assert made.layouts["torch fp32"].workers == cores()
