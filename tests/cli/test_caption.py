"""`regard caption`, and `regard evaluate` of a run that captions: files, tables, words, damage."""

import csv
import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from click.testing import CliRunner, Result
from PIL import Image

import captioned
import regard
from halting import go
from regard.answer.patches_seen import WordsLooking, words_looking
from regard.cli.main import group
from regard.convert.convert import convert
from regard.errors import DataError, MisuseError, RegardError
from regard.fit.train import Request


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained a little, and pictures."""
    home = tmp_path_factory.mktemp("caption")
    captioned.write_folder(home / "pictures", 120)
    captioned.write_folder(home / "test", 30, seed=5)
    made = captioned.recipe(home, f'images = "{home}/pictures"\nvalidation = 12', 60)
    go(Request(recipe=made, assignments=captioned.MODEL, folder=home / "run"))
    return home


def run(*words: Any) -> Result:
    return CliRunner().invoke(group, [str(word) for word in words])


def said(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.end_to_end
def test_files_folders_and_tables(home: Path, tmp_path: Path) -> None:
    files = sorted((home / "test").glob("*.png"))
    model = regard.load(home / "run", "cpu")
    told = [one.text for one in model.caption(files)]
    assert said("caption", home / "run", files[0]) == f"{told[0]}\n"
    lines = said("caption", home / "run", home / "test").splitlines()
    assert lines == [f"{file}: {text}" for file, text in zip(files, told, strict=True)]
    rows = [
        json.loads(line)
        for line in said("caption", home / "run", *files[:2], "--json", "--n", "2").splitlines()
    ]
    assert [row["file"] for row in rows] == [str(file) for file in files[:2]]
    assert [len(row["captions"]) for row in rows] == [2, 2]
    said("caption", home / "run", home / "test", "--output", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as table:
        assert [row["caption"] for row in csv.DictReader(table)] == told
    said("caption", home / "run", files[0], "-o", tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text())["caption"] == told[0]
    several = said("caption", home / "run", files[0], "--beam", "3", "--n", "2").splitlines()
    assert len(several) == 2 and several[0].endswith(model.caption(files[0], beam=3).text)


@pytest.mark.end_to_end
def test_misuse_is_told(home: Path, tmp_path: Path) -> None:
    file = home / "test/000.png"
    for words, told in (
        (("--attention", "a.gif"), "ends in .png or .svg"),
        (("--beam", "2", "--n", "3"), "a beam of 2 holds no more than 2"),
        (("--output", tmp_path / "a.txt"), "a name that ends in"),
    ):
        result = run("caption", home / "run", file, *words)
        assert result.exit_code and told in result.output + str(result.exception)
    assert run("caption", home / "run", home / "test", "--attention", "a.svg").exit_code == 2
    other = run("see", home / "run", file)
    assert "it offers caption, logits" in str(other.exception)
    for words in (("--slices",), ("--worst", "a.png"), ("--svg", "a.svg")):
        assert run("evaluate", home / "run", *words).exit_code == 2


def _png(width: int, height: int) -> bytes:
    """A file whose header says that it is so large, and that holds nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    empty = zlib.compress(b"")
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", empty) + chunk(b"IEND", b"")
    )


def _file(image: Image.Image, kind: str, **more: Any) -> bytes:
    kept = io.BytesIO()
    image.save(kept, kind, **more)
    return kept.getvalue()


@pytest.mark.end_to_end
def test_bad_pictures_are_named_and_odd_ones_read(home: Path, tmp_path: Path) -> None:
    model = regard.load(home / "run", "cpu")
    whole = (home / "test/001.png").read_bytes()
    best = model.caption(whole).text
    for damaged in (b"", b"no picture", whole[:60]):
        with pytest.raises(DataError, match="not an image that Pillow can read"):
            model.caption(damaged)
    with pytest.raises(DataError, match="10000 × 10000 pixels.*make it smaller"):
        model.caption(_png(10_000, 10_000))
    with pytest.raises(DataError, match="decompression bomb"):  # Pillow's own limit
        model.caption(_png(60_000, 60_000))
    grey = Image.open(io.BytesIO(whole))
    other = Image.new("L", grey.size, 0)
    animated = _file(grey.convert("P"), "GIF", save_all=True, append_images=[other.convert("P")])
    cmyk = _file(grey.convert("CMYK"), "TIFF")
    clear = grey.convert("RGBA")
    clear.putalpha(255)
    for odd in (animated, cmyk, _file(clear, "PNG")):
        assert model.caption(odd).text == best
    clear.putalpha(0)  # nothing of it is to be seen: it is white
    white = np.full((12, 12), 255, np.uint8)
    assert model.caption(_file(clear, "PNG")) == model.caption(white)
    assert model.caption(np.full((1, 1), 7, np.uint8)).text is not None
    (tmp_path / "bad.png").write_bytes(b"no picture")
    alone = run("caption", home / "run", tmp_path / "bad.png")
    assert alone.exit_code != 0 and "not an image that Pillow can read" in str(alone.exception)
    among = run("caption", home / "run", tmp_path / "bad.png", home / "test/001.png", "--json")
    assert among.exit_code == 1 and "bad.png: not an image" in among.stderr
    assert json.loads(among.stdout)["captions"][0]["caption"] == best


@pytest.mark.end_to_end
def test_the_words_are_drawn_where_they_looked(home: Path, tmp_path: Path) -> None:
    files = sorted((home / "test").glob("*.png"))[:2]
    said("caption", home / "run", *files, "--attention", tmp_path / "a.svg")
    words = (tmp_path / "a.svg").read_text()
    model = regard.load(home / "run", "cpu")
    for one in (*model.caption(files[0]).text.split(), files[1].name, "Where each word looked"):
        assert one in words
    said("caption", home / "run", *files, "--attention", tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.width > 3 * 132 and len(np.unique(np.asarray(image.convert("L")))) > 20


@pytest.mark.end_to_end
def test_attention_is_that_of_the_pass(home: Path) -> None:
    model = regard.load(home / "run", "cpu")
    rows, captions = captioned.pictures(3, seed=7)
    looking = words_looking(model, [row[:, :, None] for row in rows], captions)
    for one, caption in zip(looking, captions, strict=True):
        assert one.caption == caption
        sums = one.weights.sum(axis=(1, 2)) + one.token
        np.testing.assert_allclose(sums, 1, atol=1e-5)
        assert one.weights.shape == (len(caption.split()), 4, 4)
    with pytest.raises(MisuseError, match="expected 1 to 1"):
        words_looking(model, [], [], layer=2)


def test_a_noun_is_on_its_object_if_its_strongest_patch_is() -> None:
    weights = np.zeros((2, 2, 2), np.float32)
    weights[0, 0, 1], weights[1, 1, 0] = 0.6, 0.3
    one = WordsLooking(
        np.full((8, 8, 1), 200, np.uint8), ("a", "b"), weights, np.array([0.4, 0.7], np.float32)
    )
    assert one.on_object(0, [(4, 0, 8, 4)]) and one.on_object(0, [(0, 4, 4, 8), (5, 1, 8, 3)])
    assert not one.on_object(0, [(0, 0, 4, 8)])
    assert not one.on_object(1, [(0, 4, 4, 8)])  # the class token has more
    lit = one.lit(0)
    assert lit[0, 7, 0] == 200 and lit[7, 0, 0] == 40


@pytest.mark.end_to_end
def test_evaluate_counts_as_sacrebleu(home: Path) -> None:
    model = regard.load(home / "run", "cpu")
    _, truth = captioned.pictures(30, seed=5)
    answers = [one.text for one in model.caption(sorted((home / "test").glob("*.png")))]
    scores = json.loads(said("evaluate", home / "run", "--file", home / "test", "--json"))
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(answers, [truth]).score)
    assert scores["exact"] == pytest.approx(
        np.mean([a == b for a, b in zip(answers, truth, strict=True)])
    )
    assert scores["pictures"] == 30 and scores["on_object"] is None
    own = said("evaluate", home / "run")
    assert "pictures of the run's validation pictures" in own and "BLEU" in own


@pytest.mark.end_to_end
def test_it_can_be_converted_and_verified(home: Path, tmp_path: Path) -> None:
    convert(home / "run", tmp_path / "native", "native")
    assert said("verify", tmp_path / "native")
    file = home / "test/000.png"
    model = regard.load(home / "run", "cpu")
    assert regard.load(tmp_path / "native", "cpu").caption(file) == model.caption(file)
    for form in ("hf", "ctranslate2", "gguf"):
        with pytest.raises(RegardError):
            convert(home / "run", tmp_path / form, form)  # type: ignore[arg-type]
    assert "regard caption" in said("doctor", home / "run")
    for words in (("explain", "a bar"), ("walk", "a bar"), ("translate", "a bar")):
        refused = run(words[0], home / "run", words[1])
        assert refused.exit_code and isinstance(refused.exception, MisuseError | SystemExit)
