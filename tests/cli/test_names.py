"""`regard recipe`, `regard data`, and recipes and sets by name in `regard train` and `evaluate`."""

import gzip
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

import toy
from loopback import Site, serving
from regard.cli.main import group, main
from regard.config import read_toml
from regard.datasets.table import all_sets, named
from regard.recipes.named import recipe_names, recipe_text


def run(*arguments: str) -> str:
    done = CliRunner().invoke(group, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def failing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str]:
    """The exit code and the sentence of a command that fails."""
    monkeypatch.setattr(sys, "argv", ["regard", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), capsys.readouterr().err


def test_recipes_are_listed_and_printed(tmp_path: Path) -> None:
    listed = run("recipe")
    assert all(name in listed for name in recipe_names())
    rows = json.loads(run("recipe", "--json"))
    assert [row["name"] for row in rows] == recipe_names()
    assert set(rows[0]) == {"name", "what", "data", "takes"}
    copy = tmp_path / "mine.toml"
    copy.write_text(run("recipe", "demo"), encoding="utf-8")
    assert copy.read_text(encoding="utf-8") == recipe_text("demo")
    assert json.loads(run("recipe", "demo", "--json"))["tables"] == read_toml(copy)


def test_sets_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa/xquad.en.json").touch()
    rows = {row["name"]: row for row in json.loads(run("data", "--json"))}
    assert list(rows) == list(all_sets())
    assert rows["xquad"]["here"] and rows["xquad"]["folder"] == str(tmp_path / "qa")
    assert rows["phrasebook-de"]["here"] and rows["phrasebook-de"]["folder"] is None
    assert not rows["expmrc"]["here"] and rows["expmrc"]["folder"] is None
    listed = run("data")
    assert f"here: {tmp_path / 'qa'}" in listed and "licence: CC BY-SA 4.0" in listed
    assert run("data", "xquad", "--path") == f"{tmp_path / 'qa'}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["recipe", "dmeo"], 2, 'did you mean "demo"'),
        (
            ["train", "dmeo"],
            2,
            'dmeo: no such recipe; did you mean "demo"? There are: demo, answer, demo-hi',
        ),
        (["train", "recipes/demo.toml"], 2, 'did you mean "demo", which is part of regard'),
        (["train", "multi30k-quick"], 1, "`regard data multi30k` fetches it"),
        (["train", "demo", "data.set=sst2"], 2, "demo: [data]: set and phrasebook both say"),
        (["train", "demo", "train.stepz=1"], 2, "demo: [train]: unknown key 'stepz'"),
        (["data", "mutli30k"], 2, 'did you mean "multi30k"'),
        (["data", "--path"], 2, "name a set"),
        (["data", "sst2", "--path"], 1, "`regard data sst2` fetches it"),
        (["data", "sst2", "--path", "--json"], 2, "leave the rest out"),
        (["data", "libreoffice-de"], 2, "no public address"),
        (["data", "sst2", "--from", "nowhere"], 2, "nowhere: no such folder"),
        (["similar", "x", "--set", "stsb"], 1, "`regard data stsb` fetches it"),
        (["similar", "x", "--set", "stsb", "--file", "a"], 2, "--set names the file"),
        (["evaluate", "x", "--set", "sst2", "--file", "a"], 2, "--set names the files"),
    ],
)
def test_mistakes_end_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_DATA", "")
    got, said = failing(capsys, monkeypatch, *arguments)
    assert message in said and got == code
    assert not list(tmp_path.iterdir())


@pytest.fixture
def captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for $REGARD_DATA with a Multi30k of the toy language."""
    folder = tmp_path / "data/multi30k"
    folder.mkdir(parents=True)
    source, target = toy.write(tmp_path, 200)
    for part in ("train.{}.gz", "val.{}", "test_2016_flickr.{}"):
        for side, path in (("en", source), ("de", target)):
            name = part.format(side)
            body = path.read_bytes()
            (folder / name).write_bytes(gzip.compress(body) if name.endswith("gz") else body)
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.end_to_end
def test_a_recipe_is_trained_and_scored_by_name(captions: Path, tmp_path: Path) -> None:
    quick = (*toy.SMALL, "train.steps=4", "train.validate_every=2", "train.minutes=")
    run("train", "multi30k-quick", *quick)
    recipe = json.loads((tmp_path / "runs/multi30k-quick/recipe.json").read_text())
    assert recipe["data"]["set"] == "multi30k"
    assert recipe["data"]["source"] == str(captions / "train.en.gz")
    assert recipe["data"]["valid_target"] == str(captions / "val.de")
    scores = json.loads(run("evaluate", "runs/multi30k-quick", "--set", "multi30k", "--json"))
    assert scores["set"] == "multi30k" and scores["sentences"] == 200
    assert json.loads(run("runs", "--json"))[0]["data"] == "multi30k"
    run(
        "train", "--resume", "runs/multi30k-quick", "train.steps=6"
    )  # the recipe of a run opens too


def test_a_set_is_fetched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the loopback and with the real checksum: only a file that has it is taken."""
    monkeypatch.setenv("REGARD_DATA", "")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    dataset = named("sst2")
    parts = [urlsplit(dataset.address(file)) for file in dataset.files]
    files = {f"/{part.netloc}{part.path}": b"a good film\t1\n" for part in parts}
    with serving(Site(files)) as site:
        done = CliRunner().invoke(group, ["data", "sst2", "--mirror", site.address])
        assert done.exit_code == 1 and "holds 14 bytes with SHA-256" in str(done.exception)
        assert [path for path, _ in site.asked] == list(files)[:1]
    assert not json.loads(run("data", "--json"))[8]["here"]
