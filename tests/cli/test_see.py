"""`regard see`, and `regard evaluate` of a run that sees: files, tables, pictures, damage."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from sklearn import metrics

import drawn
import regard
from halting import go
from regard.cli.main import group
from regard.errors import DataError, MisuseError
from regard.evaluate.pictures import pictures_to_score, score_pictures
from regard.fit.train import Request

MODEL = "preset=vit-tiny image_size=12 patch_size=3 channels=1 d_model=32 encoder_layers=1 heads=2"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained a little, and pictures."""
    home = tmp_path_factory.mktemp("see")
    drawn.write_folder(home / "pictures", 120)
    drawn.write_folder(home / "test", 30, seed=5)
    (home / "r.toml").write_text(
        f'objective = "see"\n[data]\nimages = "{home}/pictures"\nvalidation = 12\n'
        "[train]\nsteps = 60\ntoken_budget = 408\nrate = 0.003\nwarmup = 5\nvalidate_every = 30\n"
        'schedule = "constant"\nthreads = 1\nworkers = 1\nprecision = "fp32"\n'
    )
    keys = tuple(f"model.{key}" for key in MODEL.split())
    go(Request(recipe=home / "r.toml", assignments=keys, folder=home / "run"))
    return home


def run(*words: Any) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words])


def said(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.end_to_end
def test_files_folders_and_tables(home: Path, tmp_path: Path) -> None:
    file = sorted((home / "test/down").iterdir())[0]
    model = regard.load(home / "run", "cpu")
    best = model.see(file)
    lines = said("see", home / "run", file, "--top", "2").splitlines()
    assert lines == [f"{one.probability:8.4f}  {one.label}" for one in best[:2]]
    rows = [
        json.loads(line) for line in said("see", home / "run", home / "test", "--json").splitlines()
    ]
    assert [row["file"] for row in rows] == [str(f) for f in sorted((home / "test").rglob("*.png"))]
    assert rows[10]["labels"][0]["label"] == best[0].label
    said("see", home / "run", home / "test", file, "--output", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as table:
        cells = list(csv.DictReader(table))
    assert len(cells) == 31 and cells[-1]["file"] == str(file)
    assert cells[-1]["label"] == best[0].label
    assert float(cells[-1]["probability"]) == pytest.approx(best[0].probability, abs=1e-5)
    said("see", home / "run", file, "-o", tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text())["label"] == best[0].label


@pytest.mark.end_to_end
def test_python_takes_paths_bytes_images_and_arrays(home: Path) -> None:
    file = sorted((home / "test/square").iterdir())[0]
    model = regard.load(home / "run", "cpu")
    best, image = model.see(file), Image.open(file)
    for one in (str(file), file.read_bytes(), image, np.asarray(image)):
        assert model.see(one) == best
    many = model.see([file, image, np.asarray(image), file.read_bytes()], top=1)
    assert [row[0].label for row in many] == [best[0].label] * 4
    assert model.see(np.stack([np.asarray(image)] * 3, axis=2))[0].label == best[0].label
    assert model.see([]) == []
    large = model.see(np.asarray(image).repeat(3, axis=0).repeat(3, axis=1))
    assert large[0].label == best[0].label  # 36 × 36, made smaller
    assert model.see(np.full((1, 1), 7, np.uint8))[0].probability > 0
    with pytest.raises(DataError, match="an array of shape"):
        model.see(np.zeros((2, 12, 12, 1), np.uint8))
    with pytest.raises(MisuseError, match="expected a file, bytes"):
        model.see([7])  # type: ignore[list-item]


@pytest.mark.end_to_end
def test_bad_files_are_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no picture")
    alone = run("see", home / "run", tmp_path / "bad.png")
    assert alone.exit_code != 0 and "not an image that Pillow can read" in str(alone.exception)
    file = sorted((home / "test/down").iterdir())[0]
    among = run("see", home / "run", tmp_path / "bad.png", file, "--json")
    assert among.exit_code == 1 and "bad.png: not an image" in among.stderr
    assert json.loads(among.stdout)["file"] == str(file)
    (tmp_path / "none").mkdir()
    nothing = run("see", home / "run", tmp_path / "none")
    assert "a folder without pictures" in str(nothing.exception)
    wrong = run("see", home / "run", file, "--filter", "a.gif")
    assert wrong.exit_code == 2 and "ends in .png or .svg" in wrong.output


@pytest.mark.end_to_end
def test_the_filter_is_drawn(home: Path, tmp_path: Path) -> None:
    files = sorted((home / "test/down").iterdir())[:2]
    printed = said("see", home / "run", *files, "--filter", tmp_path / "f.svg")
    assert printed.count("rollout and gradients") == 2 and "ρ" in printed
    drawn_words = (tmp_path / "f.svg").read_text()
    for words in ("attention rollout", "integrated gradients", files[1].name):
        assert words in drawn_words
    said("see", home / "run", *files, "--filter", tmp_path / "f.png")
    with Image.open(tmp_path / "f.png") as image:
        assert image.width > 4 * 2 * 132 and len(np.unique(np.asarray(image.convert("L")))) > 30


@pytest.mark.end_to_end
def test_evaluate_counts_as_scikit_learn(home: Path, tmp_path: Path) -> None:
    model = regard.load(home / "run", "cpu")
    files = sorted((home / "test").rglob("*.png"))
    truth = [file.parent.name for file in files]
    answers = [row[0].label for row in model.see(files, top=1)]
    scores = json.loads(said("evaluate", home / "run", "--file", home / "test", "--json"))
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(truth, answers))
    assert scores["f1"] == pytest.approx(metrics.f1_score(truth, answers, average="macro"))
    confusion = metrics.confusion_matrix(truth, answers, labels=list(drawn.LABELS))
    assert scores["confusion"] == confusion.tolist() and scores["texts"] == 30
    own = said("evaluate", home / "run")
    assert "pictures of the run's validation pictures" in own and "accuracy" in own
    assert model.evaluate(home / "test").accuracy == pytest.approx(scores["accuracy"])  # type: ignore[union-attr]
    said("evaluate", home / "run", "--file", home / "test", "--svg", tmp_path / "c.svg")
    assert "Which label is taken for which" in (tmp_path / "c.svg").read_text()


@pytest.mark.end_to_end
def test_the_worst_mistakes_are_drawn(home: Path, tmp_path: Path) -> None:
    """With every label one further, nearly all is a mistake; the surest come first."""
    further = dict(zip(drawn.LABELS, drawn.LABELS[1:] + drawn.LABELS[:1], strict=True))
    for label, other in further.items():
        (tmp_path / "wrong").mkdir(exist_ok=True)
        (tmp_path / "wrong" / other).symlink_to(home / "test" / label)
    model = regard.load(home / "run", "cpu")
    words = ("evaluate", home / "run", "--file", tmp_path / "wrong")
    told = json.loads(said(*words, "--json", "--worst", tmp_path / "w.png"))
    worst = told["worst"]
    assert 5 < len(worst) <= 24
    shares = [row["probability"] for row in worst]
    assert shares == sorted(shares, reverse=True)
    best = model.see(tmp_path / "wrong" / worst[0]["name"])[0]
    assert (best.label, best.probability) == (worst[0]["answer"], pytest.approx(shares[0]))
    every = score_pictures(model, pictures_to_score(model, tmp_path / "wrong"), worst=99)[1]
    assert [m.probability for m in every[: len(worst)]] == pytest.approx(shares)
    said(*words, "--worst", tmp_path / "w.svg")
    assert worst[0]["name"].rsplit("/")[-1][:6] in (tmp_path / "w.svg").read_text()
    with Image.open(tmp_path / "w.png") as image:
        assert image.width > 6 * 132
    refused = run("evaluate", home / "run", "--worst", "a.txt")
    assert refused.exit_code == 2


@pytest.mark.end_to_end
def test_labels_that_the_model_does_not_know_are_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "p/circle").mkdir(parents=True)
    Image.new("L", (12, 12), 9).save(tmp_path / "p/circle/a.png")
    refused = run("evaluate", home / "run", "--file", tmp_path / "p")
    assert "labels that the model does not know: 'circle'" in str(refused.exception)
