"""Models that draw, trained in seconds: what they put out is a picture, whatever they learned."""

import json
import math
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from safetensors.numpy import load_file, save_file

import regard
import toy_drawings
from halting import digest, go, go_with_halts
from refusals import refused
from regard.bundle.bundle import open_bundle
from regard.bundle.picture_codec import FILE, PictureCodec, read_codebook
from regard.cli.main import group
from regard.data.codebook import learn_codebook
from regard.data.scenes.asked import asked_in
from regard.data.scenes.making import scenes
from regard.data.scenes.reading import read_scene
from regard.data.store import Store
from regard.errors import CheckpointError, ConfigError, DataError, MisuseError
from regard.evaluate.drawings import DrawingScores, captions_to_draw
from regard.fit.train import Request
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe

CAPTION = "two red circles above a blue square"


def ask(folder: Path, *changes: str) -> Request:
    return Request(recipe=toy_drawings.recipe(folder), assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("draws")
    lines = go(ask(folder))
    assert any("400 drawn scenes to train on" in line for line in lines)
    assert any("64 patches of 6 × 6" in line for line in lines)
    assert any("Try: regard draw" in line for line in lines)
    return folder / "run"


def test_the_reader_reads_all_that_codes_keep() -> None:
    """What is lost on the way to codes and back would count against every drawing."""
    book = learn_codebook((scene.picture for scene in scenes("train", 3000)), 6, 512, seed=1)
    assert len(book) == 145, "white, and the quarters of 6 shapes in 6 colours"
    tests = list(scenes("test", 60))
    codes = book.codes([scene.picture for scene in tests])
    for scene, row in zip(tests, codes, strict=True):
        reading = read_scene(book.picture(row))
        assert reading.statement == scene.statement and not reading.unread


@pytest.mark.end_to_end
def test_it_learns_from_what_is_drawn_already(trained: Path) -> None:
    """Better than the frequencies of patches alone, which know no place and no caption."""
    held_out = Store.open(trained / "data/valid")["target"]
    counts = Counter(np.concatenate([held_out[i] for i in range(len(held_out))]).tolist())
    total = counts.total()
    entropy = -sum(n / total * math.log(n / total) for n in counts.values())
    checks = [r for r in read_log(trained / "log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["loss"] < 0.8 * entropy
    assert 0 <= checks[-1]["right"] <= checks[-1]["objects"] <= 1
    scores = regard.load(trained, device="cpu").evaluate()
    assert isinstance(scores, DrawingScores)
    assert 1 >= scores.objects >= scores.colours >= scores.counts >= scores.right >= 0
    assert sum(row.captions for row in scores.by_groups) == scores.captions > 50


@pytest.mark.end_to_end
def test_no_caption_that_is_held_out_was_learned_from(trained: Path) -> None:
    held_out = captions_to_draw(regard.load(trained, device="cpu"), None).captions
    tokenizer = open_bundle(trained).picture_codec.tokenizer
    learned = Store.open(trained / "data/train")["source"]
    known = {tokenizer.decode(learned[i]) for i in range(len(learned))}
    assert len(known) > 300 and not known & set(held_out)
    assert all(asked_in(caption) for caption in (*known, *held_out))


@pytest.mark.end_to_end
def test_a_seed_is_a_picture(trained: Path) -> None:
    model = regard.load(trained, device="cpu")
    assert model.tasks == ("draw",)
    four = model.draw(CAPTION, n=4, seed=3)
    assert len(four) == 4 and four.best.colours.shape == (48, 48, 3)
    assert [one.log_probability for one in four] == sorted(
        (one.log_probability for one in four), reverse=True
    )
    again, other = model.draw([CAPTION, "a green ring"], seed=3)
    (alone,) = model.draw(CAPTION, seed=3)
    assert (again.best.colours == alone.colours).all()
    assert any((one.colours == alone.colours).all() for one in four)
    assert not (other.best.colours == alone.colours).all()
    assert not (model.draw(CAPTION, seed=4).best.colours == alone.colours).all()
    likeliest = [model.draw(CAPTION, temperature=0).best for _ in range(2)]
    assert (likeliest[0].colours == likeliest[1].colours).all()
    assert model.draw("Two red circles above a BLUE square.", seed=3).best.caption == CAPTION
    assert model.unknown_words("a zebra") == ["zebra"]
    alone.save(trained / "picture.png")
    assert (np.asarray(Image.open(trained / "picture.png")) == alone.colours).all()


@pytest.mark.end_to_end
def test_one_that_has_learned_nothing_puts_out_pictures_too(tmp_path: Path) -> None:
    few = ("train.steps=1", "train.validate_every=1", "draw.codes=20")
    go(ask(tmp_path, *few, "data.scenes=de", "decode.n_best=2"))
    model = regard.load(tmp_path / "run", device="cpu")
    assert isinstance(model.bundle.picture_codec, PictureCodec)
    drawn = model.draw("zwei rote Kreise über einem Quadrat", n=3, seed=1, temperature=5)
    # of one picture two are drawn, of three six, the first two among them
    (best,) = model.draw("zwei rote Kreise über einem Quadrat", seed=1, temperature=5)
    assert len(drawn) == 3 and drawn.best.log_probability >= best.log_probability
    book = model.bundle.picture_codec.codebook
    assert len(book) == 20
    for one in drawn:
        (codes,) = book.codes([one.colours])
        assert (book.picture(codes) == one.colours).all() and one.log_probability < 0


@pytest.mark.end_to_end
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = ("train.steps=8", "train.validate_every=4", "draw.made=100", "model.dropout=0.1")
    go(ask(tmp_path / "whole", *short))
    go_with_halts(ask(tmp_path / "halted", *short), [3, 6], monkeypatch)
    whole, halted = (digest(tmp_path / name / "run") for name in ("whole", "halted"))
    assert whole == halted


@pytest.mark.end_to_end
def test_the_command(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        said = CliRunner().invoke(group, [words[0], str(trained), *words[1:]])
        assert said.exit_code == 0, said.output
        return said.output

    said = run("draw", CAPTION, "--n", "2", "--seed", "1", "--output", "two.png", "--scale", "2")
    assert "1. " in said and "2. " in said and "Written: two.png" in said
    assert Image.open("two.png").size == (2 * 96 + 2, 96)
    said = run("draw", "a purple zebra", "--seed", "1", "--json")
    assert "Note: 1 of 3 words (33%) was never in the training text: zebra" in said
    row = json.loads(said.splitlines()[-1])
    assert row["caption"] == "a purple zebra" and row["right"] is None
    Path("captions.txt").write_text(f"{CAPTION}\n\na green ring\n", encoding="utf-8")
    run("draw", "--file", "captions.txt", "--output", "pictures", "--scale", "1")
    assert sorted(path.name for path in Path("pictures").iterdir()) == ["1-1.png", "2-1.png"]
    said = run("evaluate", "--file", "captions.txt", "--worst", "wrong.svg")
    assert "2 captions of captions.txt, a drawing each (temperature 1, seed 1)" in said
    assert Path("wrong.svg").exists() == ("right    100.00%" not in said)
    scores = json.loads(run("evaluate", "--json").splitlines()[-1])
    assert scores["captions"] > 50 and len(scores["by_groups"]) == 3
    assert "regard draw" in run("doctor")
    run("draw", "a red ring", "--seed", "1", "--attention", "words.svg")
    svg = Path("words.svg").read_text(encoding="utf-8")
    assert all(f">{word}</text>" in svg for word in ("a", "red", "ring"))


@pytest.mark.end_to_end
def test_what_it_refuses(trained: Path, tmp_path: Path) -> None:
    model = regard.load(trained, device="cpu")
    with refused(MisuseError, problem="the caption is empty"):
        model.draw(" . ")
    with refused(MisuseError, problem="caption 2 has 40 tokens, the model reads 20 at most"):
        model.draw([CAPTION, "a red ring above " * 10])
    with refused(MisuseError, problem="no word that the model has learned", advice="purple"):
        model.draw("zebra elephant")
    with refused(MisuseError, subject="n", got=2):
        model.draw(CAPTION, n=2, temperature=0)
    with pytest.raises(MisuseError, match="it offers draw"):
        model.translate(CAPTION)
    with pytest.raises(MisuseError, match="draws pictures"):
        model.explain(CAPTION)
    with refused(MisuseError, advice="leave it out"):
        model.evaluate(beam=4)
    (tmp_path / "no.txt").write_text("a dog\n")
    with refused(DataError, subject="no.txt, line 1", got="a dog"):
        model.evaluate(tmp_path / "no.txt")
    said = CliRunner().invoke(group, ["draw", str(trained), CAPTION, "--output", "a.gif"])
    assert said.exit_code == 2 and "ends in .png" in said.output


@pytest.mark.end_to_end
def test_what_is_handed_on_draws_the_same(trained: Path, tmp_path: Path) -> None:
    model = regard.load(trained, device="cpu")
    model.save(tmp_path / "small")
    copy = regard.load(tmp_path / "small", device="cpu")
    one, other = (each.draw(CAPTION, seed=3).best for each in (model, copy))
    assert (one.colours == other.colours).all()
    with pytest.raises(MisuseError, match="keeps all that it needs"):
        model.save(tmp_path / "hf", to="hf")


@pytest.mark.end_to_end
def test_a_damaged_book_is_named(trained: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(trained, tmp_path / "copy")
    tensors = load_file(copy / FILE)
    (copy / FILE).write_bytes((copy / FILE).read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError):
        regard.load(copy, device="cpu").draw(CAPTION)
    for name, wrong in (
        ("grid", np.array([8, 0], np.int64)),
        ("grid", np.array([1 << 16, 1 << 16], np.int64)),
        ("patches", tensors["patches"][:, :3]),
        ("patches", tensors["patches"].astype(np.int64)),
        ("other", tensors["grid"]),
    ):
        save_file({**tensors, name: wrong}, tmp_path / FILE)
        with pytest.raises(CheckpointError):
            read_codebook(tmp_path)


def test_what_a_recipe_may_not_say() -> None:
    data = {"scenes": "en"}
    for tables, message in (
        ({"data": {"phrasebook": "de"}}, "draw needs scenes"),
        ({"data": data, "train": {"start_from": "x"}}, "begins from chance"),
        ({"data": data, "model": {"preset": "gpt-tiny"}}, "needs an encoder and a decoder"),
        ({"data": data, "draw": {"unsaid": 1.0}}, "share < 1"),
        ({"data": data, "draw": {"patch": 0}}, "1 or more"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_recipe({"objective": "draw", **tables}, "r.toml")


def test_positions_and_patches_that_do_not_fit(tmp_path: Path) -> None:
    for change, message in (
        ("model.max_length=64", "64 learned positions cannot hold 64 patches"),
        ("draw.patch=7", "patches of 7 pixels do not fill"),
        ("data.max_tokens=1", "no caption is left to train with"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            go(ask(tmp_path / change[:8], change, "draw.made=40"))
