"""Which engine goes on with a text: chosen once, proved, kept, mended; and why it is torch."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import folders
from decode.test_prompts import FRAME, GREEDY, decoder, prompts
from fit.test_complete_training import OWN, ask
from halting import go
from regard.answer.complete import Completer
from regard.answer.loaded import LoadedModel, open_model
from regard.bundle.engine_choice import read_choice, write_choice
from regard.decode.engine import Hypothesis, Layout
from regard.decode.engines.torch import TorchEngine
from regard.decode.options import DecodingOptions, Sampling
from regard.engines import autotune, engines
from regard.engines.continuation_agreement import compare_continuations, compare_tokens_but_ties
from regard.engines.engines import PREPARING, EngineRequest
from regard.errors import CheckpointError, MisuseError

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("ctranslate2")]
pytest.importorskip("ctranslate2")
PROMPTS = ["the cat sat on", "one", "a red house is not", "two birds", "the sea"]
FP32 = EngineRequest("ctranslate2", "fp32")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2, a Llama and a run of ours whose choice is made; one layout: it takes a moment."""
    root = tmp_path_factory.mktemp("tuned")
    folders.gpt2(root / "gpt2")
    folders.llama(root / "llama")
    go(ask(root / "own", *OWN, steps=30))
    shutil.move(root / "own" / "run", root / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(autotune, "layouts_for", lambda count: [(count, 1)])
        for name in ("gpt2", "llama", "run"):
            said: list[str] = []
            taken = open_model(root / name, "cpu", say=said.append).engines
            taken.take(GREEDY)
            taken.close()
            assert said == [PREPARING]
    return root


def copied(tuned: Path, name: str, tmp_path: Path) -> Path:
    shutil.copytree(tuned / name, tmp_path / name)
    return tmp_path / name


def texts(model: LoadedModel, **options: Any) -> list[str]:
    rows = Completer(model, Sampling(max_tokens=15, **options)).completions(PROMPTS)
    return [row[0].text for row in rows]


@pytest.mark.parametrize("name", ["gpt2", "llama", "run"])
def test_a_choice_is_made_proved_and_kept(
    name: str, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = json.loads((tuned / name / "engines/choice.json").read_text())
    check = kept["checks"]["ctranslate2 fp32"]
    assert kept["task"] == "complete" and check["passed"], kept
    assert (
        check["same"] == check["sentences"] >= 10 and "the same tokens as torch" in check["reason"]
    )
    assert "the same tokens as torch" in kept["checks"]["ctranslate2 int8"]["reason"]
    fastest = max(kept["speeds"], key=lambda each: kept["speeds"][each])
    assert f"{kept['engine']} {kept['precision']}" == fastest
    bundle = open_model(tuned / name, "cpu").bundle
    assert read_choice(bundle.path, bundle.weights) is not None
    monkeypatch.setattr(autotune, "autotune", lambda *_: pytest.fail("it is made already"))
    model = open_model(tuned / name, "cpu")
    engine = model.engines.take(GREEDY)
    assert f"{engine.name} {engine.layout.precision}" == fastest
    model.demand("complete")
    with pytest.raises(MisuseError, match="translate: .* does not offer it; it offers complete"):
        model.demand("translate")


@pytest.mark.parametrize("name", ["gpt2", "llama", "run"])
def test_single_precision_says_what_torch_says(name: str, tuned: Path) -> None:
    with_torch = open_model(tuned / name, "cpu", EngineRequest("torch"))
    library = open_model(tuned / name, "cpu", FP32)
    expected = texts(with_torch)
    assert texts(library) == expected
    streamed = ["".join(Completer(library, Sampling(max_tokens=15)).stream(p)) for p in PROMPTS]
    assert streamed == expected
    stop = max(expected, key=len)[2:4]
    assert texts(library, stop_text=stop) == texts(with_torch, stop_text=stop) != expected
    library.engines.close()
    with_torch.engines.close()


@pytest.mark.parametrize("name", ["gpt2", "run"])
def test_the_stored_choice_needs_no_torch(name: str, tuned: Path, tmp_path: Path) -> None:
    """A whole command, in a process of its own."""
    folder = copied(tuned, name, tmp_path)
    bundle = open_model(folder, "cpu").bundle
    choice = read_choice(folder, bundle.weights)
    assert choice is not None
    write_choice(folder, replace(choice, engine="ctranslate2", precision="fp32"))
    code = (
        "import sys; from regard.cli.main import group;"
        "group(['complete', sys.argv[1], 'the cat', '--max-tokens', '9'], standalone_mode=False);"
        "assert 'torch' not in sys.modules and 'ctranslate2' in sys.modules"
    )
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with_torch = open_model(folder, "cpu", EngineRequest("torch"))
    (expected,) = Completer(with_torch, Sampling(max_tokens=9)).completions(["the cat"])
    assert done.stdout == f"the cat{expected[0].text}\n"


def test_what_it_lacks_torch_does_and_says_why(tuned: Path) -> None:
    model = open_model(tuned / "gpt2", "cpu", replace(FP32, engine="auto", precision="auto"))
    expected = texts(
        open_model(tuned / "gpt2", "cpu", EngineRequest("torch")), temperature=1, seed=3
    )
    assert texts(model, temperature=1.0, seed=3) == expected
    assert any("does not offer draws that a seed repeats" in note for note in model.engines.notes)
    assert model.engines.take(DecodingOptions(beam=2)).name == "torch"
    assert "torch, because ctranslate2 does not offer a beam as ours" in model.engines.notes
    named = open_model(tuned / "gpt2", "cpu", FP32)
    with pytest.raises(MisuseError, match="does not offer a beam as ours"):
        texts(named, beam=3)
    drawn = texts(named, temperature=1.5), texts(named, temperature=1.5)
    assert drawn[0] != drawn[1]


def test_a_damaged_or_foreign_engine_is_made_again(tuned: Path, tmp_path: Path) -> None:
    folder = copied(tuned, "gpt2", tmp_path)
    expected = texts(open_model(folder, "cpu", FP32))
    place = folder / "engines/ctranslate2-fp32"
    weights = bytearray((place / "model.bin").read_bytes())
    weights[len(weights) // 2] ^= 1
    (place / "model.bin").write_bytes(weights)
    said: list[str] = []
    assert texts(open_model(folder, "cpu", FP32, say=said.append)) == expected
    assert len(said) == 1 and "the engine is made again from the weights" in said[0]
    shutil.rmtree(place)
    shutil.copytree(tuned / "llama/engines/ctranslate2-fp32", place)
    assert texts(open_model(folder, "cpu", FP32)) == expected
    (place / "vocabulary.json").write_text("[]")
    assert texts(open_model(folder, "cpu", FP32)) == expected


def test_what_kills_the_process_is_not_used(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ruled_out", lambda feature: "it: tried, an illegal instruction")
    model = open_model(tuned / "gpt2", "cpu")
    assert model.engines.take(GREEDY).name == "torch"
    assert "torch, because this machine does not survive it" in model.engines.notes[0]


def test_a_shortlist_is_for_translations(tuned: Path) -> None:
    model = open_model(tuned / "run", "cpu", replace(FP32, shortlist=True))
    with pytest.raises(MisuseError, match="shortlist: is for translations"):
        texts(model)


def test_a_large_model_is_not_converted_unasked(
    tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MOST_BYTES", 1000)
    folder = copied(tuned, "gpt2", tmp_path)
    shutil.rmtree(folder / "engines")
    model = open_model(folder, "cpu")
    assert model.engines.take(GREEDY).name == "torch" and not (folder / "engines").exists()
    assert "of weights would be written again, twice" in model.engines.notes[0]


def test_a_position_beyond_the_table_of_the_library_is_torch_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sinusoids have no end; a text that is too long for the table must not be cut there."""
    monkeypatch.setattr(autotune, "layouts_for", lambda count: [(count, 1)])
    go(ask(tmp_path, *OWN, "model.positions=sinusoidal", "model.max_length=64", steps=4))
    prompt, most = "the cat purrs\n" * 140, "ctranslate2 does not offer more than 2,048 positions"
    model = open_model(tmp_path / "run", "cpu")
    model.engines.take(GREEDY, length=2048)
    assert not any(most in note for note in model.engines.notes)
    (answer,) = Completer(model, Sampling(max_tokens=120)).completions([prompt])
    assert len(prompt) + len(answer[0].ids) == 1960 + 120 or answer[0].finished
    assert any(f"torch, because {most}" in note for note in model.engines.notes)
    named = open_model(tmp_path / "run", "cpu", FP32)
    with pytest.raises(MisuseError, match=most):
        next(Completer(named, Sampling(max_tokens=120)).stream(prompt))


def test_what_the_library_cannot_express_torch_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autotune, "layouts_for", lambda count: [(count, 1)])
    go(ask(tmp_path, *OWN, "model.positions=relative", steps=4))
    model, why = open_model(tmp_path / "run", "cpu"), "no model with positions = relative"
    assert model.engines.take(GREEDY).name == "torch"
    assert why in model.engines.notes[0]
    said: list[str] = []
    with pytest.raises(CheckpointError, match=f"{why} behind a prompt; use the torch engine"):
        texts(open_model(tmp_path / "run", "cpu", FP32, say=said.append))
    assert not said


def test_outputs_may_differ_where_torch_finds_both_tokens_as_likely() -> None:
    model, rows = decoder("gpt"), prompts(40)
    engine = TorchEngine(model, FRAME)
    best = [hypotheses[0] for hypotheses in engine.submit(rows, GREEDY)()]
    engine.close()
    times = Counter(i for h in best for i in set(h.ids))
    liked = next(i for i, count in times.most_common() if count < len(rows) // 2)
    twin = next(i for i in range(liked + 1, 71) if i not in times)
    with torch.no_grad():
        model.output.weight[twin] = model.output.weight[liked]
    engine = TorchEngine(model, FRAME)
    others = []
    for h in best:  # the first of the liked is exchanged
        place = next((n for n, i in enumerate(h.ids) if i == liked), None)
        ids = h.ids if place is None else (*h.ids[:place], twin)
        others.append(Hypothesis(ids, 0.0, 0.0, True))
    changed = sum(a.ids != b.ids for a, b in zip(best, others, strict=True))
    assert 0 < changed < len(rows)
    check = compare_tokens_but_ties(engine, rows, best, others)
    assert check.same == len(rows) - changed and "the rest are ties" in check.reason
    wrong = [replace(h, ids=(13, *h.ids[1:])) for h in best]
    worse = compare_tokens_but_ties(engine, rows, best, wrong)
    assert not worse.passed and "ties" not in worse.reason
    assert compare_tokens_but_ties(engine, rows, best, best).passed
    engine.close()


@pytest.mark.needs("int8")
@pytest.mark.parametrize("worse", ["none", "int8", "fp32"])
def test_a_precision_is_trusted_where_it_writes_the_same(worse: str) -> None:
    model, noisy, rows = decoder("gpt"), decoder("gpt"), prompts(20)
    with torch.no_grad():
        for parameter in noisy.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)

    def library(layout: Layout) -> TorchEngine:
        return TorchEngine(noisy if layout.precision == worse else model, FRAME)

    checks, reason = compare_continuations(
        lambda layout: TorchEngine(model, FRAME), library, rows, GREEDY, lambda: 0.0
    )
    passed = {name.split()[1]: check.passed for name, check in checks.items()}
    if worse == "fp32":
        assert passed == {"fp32": False}
        assert reason == f"fp32: {checks['ctranslate2 fp32'].reason}"
    else:
        assert passed == {"fp32": True, "int8": worse == "none"} and not reason
        assert {check.sentences for check in checks.values()} == {len(rows)}
