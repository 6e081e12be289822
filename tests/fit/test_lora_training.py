"""LoRA end to end: it learns, moves its maps alone, resumes to the bit, leaves a plain model."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

import halting
import regard
from fit.test_classify_training import OWN, ask, fresh, texts
from halting import digest, forget_steps, go, go_with_halts
from regard.api.load import load
from regard.checkpoint.files import folder_name
from regard.convert.convert import convert
from regard.errors import ConfigError
from regard.fit.find_batch import find_batch
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end

LORA = ("lora.rank=4", "lora.alpha=16", "train.rate=0.01", "train.steps=120")
KINDS = ["own", "bert", "distilbert"]


def start_of(folder: Path, kind: str) -> Path:
    """A tiny encoder to begin with: random ones of `transformers`, or a run that fills holes."""
    if kind != "own":
        return fresh(folder / "start", kind)
    folder.mkdir(parents=True)
    (folder / "lines.txt").write_text("".join(f"{text}\n" for text, _ in texts(200, seed=5)))
    keys = ("objective=fill", "tokenizer.kind=words", "model.encoder_layers=2")
    go(ask(folder / "start", *OWN, *keys, f"data.texts={folder}/lines.txt", "train.steps=160"))
    return folder / "start/run"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a run with LoRA on each kind of encoder, beside its start."""
    root, folders = tmp_path_factory.mktemp("lora"), dict[str, Path]()

    def run(kind: str) -> Path:
        if kind not in folders:
            start = start_of(root / kind, kind)
            lines = go(ask(root / kind, f"train.start_from={start}", *LORA))
            (root / kind / "said").write_text("\n".join(lines))
            (root / kind / "from").write_text(str(start))
            folders[kind] = root / kind / "run"
        return folders[kind]

    return run


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load(folder, "cpu", engine="torch").transformer.named_parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_and_only_its_maps_move(kind: str, runs: Callable[[str], Path]) -> None:
    run = runs(kind)
    model = regard.load(run, device="cpu")
    rows = texts(60, seed=7)
    right = [best[0].label for best in model.classify([text for text, _ in rows])]
    assert np.mean([a == b for a, (_, b) in zip(right, rows, strict=True)]) > 0.9
    assert model.embed(["the cat", "a dog"]).shape == (2, 32)
    got, began = weights(run), weights(Path((run.parent / "from").read_text()))
    stayed = {n for n in got if n in began and torch.equal(got[n], began[n])}
    new = set(json.loads((run / "run.json").read_text())["new_weights"])
    assert new == set(got) - set(began) and "classifier.map.weight" in new
    maps = {n for n in got if n.endswith(("attention.query.weight", "attention.value.weight"))}
    assert set(got) - stayed == new | maps
    said = (run.parent / "said").read_text()
    trained = sum(4 * sum(got[n].shape) for n in maps) + sum(got[n].numel() for n in new)
    whole = sum(w.numel() for w in got.values())
    assert (
        f"LoRA:       {trained:,} of {whole:,} parameters are trained ({trained / whole:.2%})"
        in said
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_holds_a_and_b_and_their_sum_is_the_model(
    kind: str, runs: Callable[[str], Path]
) -> None:
    run = runs(kind)
    last = run / "checkpoints" / folder_name(120)
    merged = load_file(last / "weights.safetensors")
    beside = load_file(last / "optimizer.safetensors")
    began = weights(Path((run.parent / "from").read_text()))
    pairs = {n.removesuffix(".a") for n in beside if n.startswith("lora.") and n.endswith(".a")}
    assert len(pairs) == 2 * 2  # two layers
    for name in pairs:
        a, b, start = (beside[f"{name}.{part}"] for part in ("a", "b", "start"))
        weight = name.removeprefix("lora.").replace("/", ".") + ".weight"
        assert torch.equal(start, began[weight])
        expected = start.double() + 16 / 4 * b.double() @ a.double()
        torch.testing.assert_close(merged[weight].double(), expected, rtol=0, atol=1e-6)
    moments = {n for n in beside if n.endswith(".exp_avg")}
    new = json.loads((run / "run.json").read_text())["new_weights"]
    assert len(moments) == 2 * len(pairs) + len(new)
    assert sum(beside[n].numel() for n in moments) < sum(w.numel() for w in merged.values()) / 3


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_transformers_reads_what_convert_writes(
    kind: str, runs: Callable[[str], Path], tmp_path: Path
) -> None:
    """The final weights are those of an ordinary model."""
    convert(runs(kind), tmp_path / "hf", "hf")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    model = regard.load(runs(kind), device="cpu")
    for text, _ in texts(5, seed=3):
        with torch.no_grad():
            ids = torch.tensor([model.tokenizer.encode(text).ids])
            expected = theirs(input_ids=ids).logits.softmax(dim=-1)[0]
        shares = {one.label: one.probability for one in model.classify(text)}
        assert [shares["animal"], shares["thing"]] == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_resume_is_exact(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a moving average; the halts are before, at and after checkpoints."""
    start = fresh(tmp_path / "start", kind)
    keys = (f"train.start_from={start}", *LORA, "train.steps=30", "train.validate_every=10")
    keys += ("train.ema=0.9", 'lora.maps=["query", "key", "outer"]')
    go(ask(tmp_path / "straight", *keys))
    go_with_halts(ask(tmp_path / "halted", *keys), [1, 13, 20], monkeypatch)
    assert digest(tmp_path / "halted/run") == digest(tmp_path / "straight/run")


def test_an_unfinished_run_is_used_and_begun_again(tmp_path: Path) -> None:
    start = fresh(tmp_path / "start", "bert")
    go(ask(tmp_path, f"train.start_from={start}", *LORA, "train.steps=20"))
    run = RunFolder(tmp_path / "run")
    final = run.weights.read_bytes()
    run.update_info(state="stopped")
    assert regard.load(run.folder, device="cpu").classify("the cat")  # from a checkpoint
    forget_steps(run)
    go(Request(resume=run.folder))  # no checkpoint is left: from the first step, to the same bits
    assert run.weights.read_bytes() == final


def test_a_translation_begins_as_loaded_and_two_workers_move_the_maps_alone(
    tmp_path: Path, toy_run: Path
) -> None:
    """With a rate of 0 the model stays the loaded one, to the bit."""
    keys = (f"train.start_from={toy_run}", "lora.rank=2", "train.schedule=constant")
    keys += ("train.precision=fp32",)
    go(halting.ask(tmp_path / "still", *keys, "train.rate=0.0", steps=2))
    began = dict(load(toy_run, "cpu", engine="torch").transformer.named_parameters())
    still = dict(load(tmp_path / "still/run", "cpu", engine="torch").transformer.named_parameters())
    assert all(torch.equal(still[name], began[name]) for name in began)
    keys += ("train.rate=0.003", "train.warmup=1", "train.workers=2", "train.threads=2")
    go(halting.ask(tmp_path / "moved", *keys, steps=24))
    moved = dict(load(tmp_path / "moved/run", "cpu", engine="torch").transformer.named_parameters())
    changed = {name for name in began if not torch.equal(moved[name], began[name])}
    assert changed == {n for n in began if n.endswith(("query.weight", "value.weight"))}
    assert {n.split(".")[3] for n in changed} == {"attention", "cross"}


def test_similar_and_fill(tmp_path: Path) -> None:
    """Objectives without a new head: A and B alone are trained, or with the head over words."""
    start, chance = fresh(tmp_path / "start", "bert"), random.Random(1)
    rows = [(a, chance.choice(texts(5))[0], str(chance.randint(0, 5))) for a, _ in texts(80)]
    keys = (f"train.start_from={start}", *LORA, "train.steps=4", "train.validate_every=4")
    pairs: list[tuple[str, ...]] = [("text", "pair", "label"), *rows]
    said = go(ask(tmp_path / "s", *keys, "objective=similar", "data.pair=pair", rows=pairs))
    line = next(line for line in said if line.startswith("LoRA:"))
    assert line.endswith("of A and B beside 4 maps")
    said = go(ask(tmp_path / "f", *keys, "objective=fill"))
    line = next(line for line in said if line.startswith("LoRA:"))
    assert line.endswith("of what is new")  # BertModel has no head over words


def test_find_batch_takes_a_step(tmp_path: Path) -> None:
    start = fresh(tmp_path / "start", "bert")
    request = ask(tmp_path, f"train.start_from={start}", *LORA, "train.memory=3000")
    test = find_batch(Request(request.recipe, request.assignments), lambda line: None)
    assert any(one.fits for one in test.tried)


def test_recipes_with_lora_are_checked(tmp_path: Path) -> None:
    base: dict[str, Any] = {"data": {"phrasebook": "de"}, "train": {"start_from": "x"}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"lora": {"rank": -1}}, r"\[lora\]: rank: got -1, expected 0 or more"),
        ({"lora": {"rank": 8, "alpha": 0}}, "alpha: got 0.0, expected a number above 0"),
        ({"lora": {"rank": 8, "maps": []}}, "maps: got none"),
        ({"lora": {"maps": ["q"]}}, r"maps\[0\]: got 'q', expected one of 'query', 'key', 'value'"),
        ({"lora": {"r": 8}}, "unknown key 'r'"),
        ({"lora": {"rank": 8}, "train": {}}, "adapts a trained model; name one as train.start_f"),
    ]
    for change, message in cases:
        with pytest.raises(ConfigError, match=message):
            make_recipe(base | change, "r")
    make_recipe(base | {"lora": {"rank": 8}}, "r")
    start = fresh(tmp_path / "start", "bert")
    for key, message in (("lora.rank=32", "got 32, expected less than 32"),
                         ('lora.maps=["gate"]', "this model has no map 'gate'")):  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            go(ask(tmp_path, f"train.start_from={start}", *LORA, key))
        assert not (tmp_path / "run").exists()
