"""Pictures before training: which are held out, what is kept, what teaches nothing."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import drawn
from refusals import refused
from regard.bundle.pixels import Preparation, read_preparation
from regard.errors import CheckpointError, DataError
from regard.model.spec import Spec
from regard.prepare.pictures import (
    held_out_names,
    load_pictures,
    parted,
    prepare_pictures,
    survey_pictures,
)
from regard.runs.folder import RunFolder, seal
from regard.runs.recipe import make_recipe
from regard.runs.sections import Recipe

MODEL = {"preset": "vit-tiny", "image_size": 12, "patch_size": 3, "channels": 1}


def recipe(images: Path, **see: object) -> Recipe:
    data = {"images": str(images), "validation": 20}
    return make_recipe({"objective": "see", "data": data, "model": MODEL, "see": see}, "r")


def prepared(folder: Path, asked: Recipe) -> RunFolder:
    run = RunFolder(folder)
    folder.mkdir()
    prepare_pictures(run, asked, survey_pictures(asked))
    seal(run)
    return run


def test_what_is_kept_is_what_was_there(tmp_path: Path) -> None:
    pixels, labels = drawn.pictures(200)
    numbers = [drawn.LABELS.index(label) for label in labels]
    (tmp_path / "a-images-idx3-ubyte.gz").write_bytes(gzip.compress(drawn.idx(pixels)))
    (tmp_path / "a-labels-idx1-ubyte.gz").write_bytes(gzip.compress(drawn.idx(numbers)))
    asked = recipe(tmp_path / "a-images-idx3-ubyte.gz", names=drawn.LABELS)
    data = load_pictures(run := prepared(tmp_path / "run", asked))
    assert data.labels == drawn.LABELS and data.places == 17
    assert 8 < len(data.valid) < 40 and len(data.train) + len(data.valid) == 200
    stores = [data.train, data.valid]
    kept = np.concatenate([data.colours(s, range(len(s))) for s in stores])[..., 0]
    answers = np.concatenate([s.numbers["label"] for s in stores])
    assert {(p.tobytes(), a) for p, a in zip(kept, answers.tolist(), strict=True)} == {
        (p.tobytes(), n) for p, n in zip(pixels, numbers, strict=True)
    }
    for number, name in enumerate(held_out_names(run)):
        place = int(name.rsplit("#")[1]) - 1
        assert np.array_equal(
            data.colours(data.valid, range(number, number + 1))[0, ..., 0], pixels[place]
        )
    told = json.loads((run.folder / "preprocessor_config.json").read_text())
    assert told["size"] == {"height": 12, "width": 12} and told["image_mean"] == [0.5]


def test_alike_are_never_on_both_sides_and_no_class_is_held_out_whole() -> None:
    keys = [str(n % 50) for n in range(400)]
    labels = ["a"] * 396 + ["b"] * 4
    held = parted(keys, labels, 0.3, seed=1)
    assert 0.1 < held.mean() < 0.5
    sides: dict[str, set[bool]] = {}
    for key, is_held in zip(keys[:396], held, strict=False):
        sides.setdefault(key, set()).add(bool(is_held))
    assert all(len(side) == 1 for side in sides.values())
    alone = parted([str(n) for n in range(300)], [str(n) for n in range(300)], 0.5, seed=1)
    assert not alone.any()  # each the only one of its class
    assert parted(keys, labels, 0.0, seed=1).sum() == 0


def test_a_class_with_one_picture_is_learned(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 60)
    (folder / "lonely").mkdir()
    Image.new("L", (1, 1), 99).save(folder / "lonely/a.png")
    data = load_pictures(prepared(tmp_path / "run", recipe(folder)))
    lonely = data.labels.index("lonely")
    assert data.train.numbers["label"].tolist().count(lonely) == 1
    assert lonely not in data.valid.numbers["label"]


def test_what_teaches_nothing_is_refused(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 60)
    for label in drawn.LABELS[1:]:
        for file in (folder / label).iterdir():
            file.unlink()
        (folder / label).rmdir()
    with pytest.raises(DataError, match="every picture has the label 'across'"):
        survey_pictures(recipe(folder))
    few = drawn.write_folder(tmp_path / "few", 3)
    with pytest.raises(DataError, match="3 pictures: too few to hold some out"):
        survey_pictures(recipe(few))


def test_labels_of_the_validation_pictures_must_be_known(tmp_path: Path) -> None:
    folder = drawn.write_folder(tmp_path / "p", 60)
    other = drawn.write_folder(tmp_path / "v", 9)
    (other / "circle").mkdir()
    Image.new("L", (12, 12), 99).save(other / "circle/a.png")
    tables = {
        "objective": "see",
        "data": {"images": str(folder), "valid_images": str(other)},
        "model": MODEL,
    }
    with pytest.raises(DataError, match=r"labels that training has not seen: 'circle' \(1\)"):
        survey_pictures(make_recipe(tables, "r"))
    (other / "circle/a.png").unlink()
    (other / "circle").rmdir()
    data = load_pictures(prepared(tmp_path / "run", make_recipe(tables, "r")))
    assert (len(data.train), len(data.valid)) == (60, 9)


def test_pictures_are_made_as_large_as_the_model_looks_at() -> None:
    colours = np.arange(24, dtype=np.uint8).reshape(4, 6, 1)
    by = Preparation(height=8, width=12)
    theirs = Image.fromarray(colours[:, :, 0]).resize((12, 8), 2)
    assert np.array_equal(by.fitted(colours)[:, :, 0], np.asarray(theirs))
    assert Preparation(height=4, width=6).fitted(colours) is colours
    shorter = Preparation(height=0, width=0, shortest=8, crop=(8, 8)).fitted(colours)
    assert np.array_equal(shorter[:, :, 0], np.asarray(theirs)[:, 2:10])
    with pytest.raises(DataError, match="its shorter side made 224 pixels"):
        Preparation(height=0, width=0, shortest=224).fitted(np.zeros((1, 50_000, 1), np.uint8))
    numbers = Preparation(2, 2, mean=(0.5,), std=(0.25,)).numbers(
        np.full((1, 2, 2, 1), 255, np.uint8)
    )
    assert numbers.shape == (1, 1, 2, 2) and numbers == pytest.approx(2.0)


def test_a_preparation_is_written_and_read(tmp_path: Path) -> None:
    spec = Spec(0, image_size=12, patch_size=3, channels=1, decoder_layers=0)
    usual = read_preparation(tmp_path, spec)
    usual.write(tmp_path)
    assert read_preparation(tmp_path, spec) == usual
    (tmp_path / "preprocessor_config.json").write_text('{"size": 9}')
    folder = drawn.write_folder(tmp_path / "p", 60)
    (tmp_path / "run").mkdir()
    (tmp_path / "preprocessor_config.json").rename(tmp_path / "run/preprocessor_config.json")
    asked = recipe(folder)
    with refused(CheckpointError, expected="12 × 12 × 1"):
        prepare_pictures(RunFolder(tmp_path / "run"), asked, survey_pictures(asked))
