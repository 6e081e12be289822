"""The models in the box: small, whole, as good as their cards say, and opened by their names."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load as load_tensors
from safetensors.torch import save

from refusals import refused
from regard.api.load import load
from regard.api.model import Model
from regard.bundle import box
from regard.bundle.box import WEIGHTS, Boxed, models_in_the_box, narrowed, pack, widened
from regard.cli.main import group
from regard.data.phrasebook.corpus import Entry
from regard.errors import CheckpointError
from regard.evaluate.translations import (
    pairs_to_score,
    score,
    score_notes,
    score_slices,
    translate_all,
)

NAMES = sorted(models_in_the_box())
LARGEST = 4_000_000  # bytes of a model


def test_both_are_there() -> None:
    assert NAMES == ["demo-de", "demo-hi"]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_small(name: str) -> None:
    files = models_in_the_box()[name].folder.iterdir()
    assert sum(file.stat().st_size for file in files) <= LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_no_file_names_a_folder_of_the_machine_that_made_it(name: str) -> None:
    data = json.loads((models_in_the_box()[name].folder / "recipe.json").read_text())["data"]
    files = [data[key] for key in ("source", "target", "valid_source", "valid_target")]
    assert all(file is None or "/" not in file for file in files)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_one_asks(name: str) -> None:
    card = models_in_the_box()[name].card
    for key in ("languages", "what", "data", "recipe", "steps", "weights", "trained", "licence"):
        assert card[key], key
    assert card["scores"]["notes"] == "51 of 51"


def opened(name: str) -> Model:
    return load(models_in_the_box()[name].unpacked(), "cpu", engine="torch")


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_come_out_exactly(name: str) -> None:
    model = opened(name)
    (row,), slips = score_notes(model, model.bundle.settings.search)
    assert not slips and row.sentences == 51


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_sentences_are_as_good_as_the_card_says(name: str) -> None:
    model, stated = opened(name), models_in_the_box()[name].card["scores"]
    pairs = pairs_to_score(model.bundle.run, None, None, slices=True)
    step = len(pairs.sources) // 100
    outputs = translate_all(model, pairs.sources[::step][:100], model.bundle.settings.search)
    scores = score(outputs, pairs.references[::step][:100])
    # A hundred of some 1,400: the share of exact ones is within four standard errors.
    share = stated["exact"] / 100
    assert scores.exact >= 100 * (share - 4 * (share * (1 - share) / 100) ** 0.5)
    assert scores.bleu >= stated["bleu"] - 3


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_all_sentences_are_as_good_as_the_card_says(name: str) -> None:
    model, stated = opened(name), models_in_the_box()[name].card["scores"]
    pairs = pairs_to_score(model.bundle.run, None, None, slices=True)
    outputs = translate_all(model, pairs.sources, model.bundle.settings.search)
    scores = score(outputs, pairs.references)
    # Another processor may round otherwise and turn a sentence or two.
    assert abs(scores.bleu - stated["bleu"]) < 0.2
    assert abs(scores.exact - stated["exact"]) < 0.5
    for row in score_slices(list[Entry](pairs.entries), outputs):
        assert abs(row.bleu - stated["slices"][row.name]["bleu"]) < 1.0


def test_unknown_words_are_named() -> None:
    model = opened("demo-de")
    assert model.unknown_words("The animal likes quantum ice cream.") == ["quantum"]
    for entry in pairs_to_score(model.bundle.run, None, None, slices=True).sources[:50]:
        assert model.unknown_words(entry) == []


def test_weights_survive_the_way_there_and_back() -> None:
    exact = torch.tensor([0.0, -0.0, 1.0, -2.5, 2.0**-126, 3.0e38, 1e-40]).bfloat16()
    rounded = torch.randn(5, 7) * 10.0 ** torch.randint(-6, 6, (5, 7))
    ties = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8)])  # half way: to the even one
    tensors = {"b": exact.float(), "a": rounded, "ties": ties}
    packed = narrowed(save(tensors))
    dtypes = {name: tensor.dtype for name, tensor in load_tensors(packed).items()}
    assert dtypes == dict.fromkeys(tensors, torch.bfloat16)
    again = load_tensors(widened(packed))
    for name, tensor in tensors.items():
        assert torch.equal(again[name], tensor.bfloat16().float()), name  # torch's own rounding


def test_unpacking_twice_gives_the_same_folder_and_a_change_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "demo-de"
    shutil.copytree(models_in_the_box()["demo-de"].folder, copy)
    model = Boxed("demo-de", copy)
    first = model.unpacked()
    before = (first / WEIGHTS).stat().st_mtime_ns
    assert model.unpacked() == first and (first / WEIGHTS).stat().st_mtime_ns == before
    recipe = json.loads((copy / "recipe.json").read_text())
    (copy / "recipe.json").write_text(json.dumps(recipe, indent=1))
    assert model.unpacked() != first and first.is_dir()


def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "demo-de"
    shutil.copytree(models_in_the_box()["demo-de"].folder, copy)
    data = bytearray((copy / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (copy / WEIGHTS).write_bytes(data)
    with refused(CheckpointError, problem="damaged"):
        Boxed("demo-de", copy).unpacked()


def test_the_same_run_is_packed_into_the_same_bytes(tmp_path: Path) -> None:
    run = models_in_the_box()["demo-de"].unpacked()
    for number in (1, 2):
        pack(run, tmp_path / str(number), {"name": "demo-de"})
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / "2" / file.name).read_bytes(), file.name


@pytest.mark.end_to_end
def test_a_run_on_own_files_is_packed_without_their_folder(
    toy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "box").mkdir()
    scores = {"set": "files", "sentences": 9, "bleu": 12.3, "chrf": 45.6, "exact": 7.8}
    card = {"name": "toy", "languages": "Toy → Yot", "data": "twenty words", "scores": scores}
    pack(toy_run, tmp_path / "box/toy", card)
    run = Boxed("toy", tmp_path / "box/toy").unpacked()
    assert [file.name for file in (run / "data").iterdir()] == ["valid.jsonl"]
    text = (run / "recipe.json").read_text()
    assert str(toy_run.parent) not in text and json.loads(text)["data"]["source"]
    valid = pairs_to_score(load(run).bundle.run, None, None, slices=False)
    assert len(valid.sources) > 5

    monkeypatch.setattr(box, "BOX", tmp_path / "box")
    models_in_the_box.cache_clear()
    try:
        listed = CliRunner().invoke(group, ["models"]).output
        shown = CliRunner().invoke(group, ["models", "toy"]).output
    finally:
        models_in_the_box.cache_clear()
    assert listed == "toy       Toy → Yot         BLEU  12.3 on 9 sentences\n"
    assert "BLEU 12.3, chrF 45.6, exact 7.8 %\n" in shown and "notes" not in shown
