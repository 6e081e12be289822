"""Parsers trained in seconds; what they put out is a tree, whatever they have learned."""

import json
import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import regard
import toy_trees
from halting import digest, go, go_with_halts
from http_server import serving
from refusals import refused
from regard.answer.parse import Parse
from regard.cli.main import group
from regard.config import read_toml
from regard.data.brackets import compare
from regard.data.trees import bracketed, cleaned, read_trees, trees_of, words_of_tree
from regard.errors import CheckpointError, ConfigError, DataError, MisuseError
from regard.evaluate.trees import TreeScores
from regard.fit.train import Request
from regard.model.spec import parameter_count
from regard.recipes.named import recipe_file
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe


def ask(folder: Path, *changes: str) -> Request:
    return Request(recipe=toy_trees.recipe(folder), assignments=changes, folder=folder / "run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parser")
    lines = go(ask(folder, "parse.test=1-30"))
    assert any("192 train, 18 valid, 30 test" in line for line in lines)
    assert any("Try: regard parse" in line for line in lines)
    return folder / "run"


@pytest.mark.end_to_end
def test_it_learns_trees(trained: Path) -> None:
    model = regard.load(trained, device="cpu")
    assert model.tasks == ("parse",)
    parse = model.parse("the red dog sits near a cat .")
    assert isinstance(parse, Parse) and str(parse) == parse.brackets == (
        "(S (NP (DT the) (JJ red) (NN dog)) (VP (VB sits) (PP (IN near) (NP (DT a) (NN cat)))) "
        "(. .))"
    )
    assert parse.tags == ["DT", "JJ", "NN", "VB", "IN", "DT", "NN", "."]
    (again,) = model.parse([parse.words])
    assert again.tree == parse.tree and again.log_probability <= 0
    scores = model.evaluate()
    assert isinstance(scores, TreeScores)
    assert scores.sentences == 30 and scores.well_formed == 1 and scores.f1 > 0.97
    checks = [r for r in read_log(trained / "log.jsonl") if r["kind"] == "validation"]
    assert checks[-1]["f1"] > 0.95 and checks[-1]["loss"] < checks[0]["loss"]


@pytest.mark.end_to_end
def test_sentences_longer_than_all_it_has_seen_keep_their_words(trained: Path) -> None:
    """Training has 27 words at most; here are up to 90, and words that it never saw."""
    model, chance = regard.load(trained, device="cpu"), random.Random(5)
    trees = list(trees_of(toy_trees.sentence(chance, clauses) for clauses in (5, 9, 18)))
    for tree in trees:
        parse = model.parse([words_of_tree(tree)])[0]
        assert parse.words == words_of_tree(tree)
        (whole,) = trees_of([parse.brackets])
        assert whole == parse.tree
    assert compare(model.parse([words_of_tree(trees[0])])[0].tree, trees[0]).f1 > 0.9
    odd = ["東京", "(", "-LRB-", "the", ")", "xylophone's", "💐"] * 3
    assert model.parse([odd])[0].words == odd


@pytest.mark.end_to_end
@pytest.mark.parametrize("beam", [1, 4])
def test_one_that_has_learned_nothing_puts_out_trees_too(tmp_path: Path, beam: int) -> None:
    go(ask(tmp_path, "train.steps=1", "train.validate_every=1"))
    model = regard.load(tmp_path / "run", device="cpu")
    rows = [["a"] * n for n in (1, 2, 3, 7, 30)]
    for words, parse in zip(rows, model.parse(rows, beam=beam), strict=True):
        assert parse.words == words
        assert list(trees_of([parse.brackets])) == [parse.tree]


@pytest.mark.end_to_end
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = ("train.steps=12", "train.validate_every=6", "model.dropout=0.1")
    go(ask(tmp_path / "whole", *short))
    go_with_halts(ask(tmp_path / "halted", *short), [5, 9], monkeypatch)
    whole, halted = (digest(tmp_path / name / "run") for name in ("whole", "halted"))
    assert whole == halted


@pytest.mark.end_to_end
def test_the_command(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ask_for = CliRunner()
    said = ask_for.invoke(group, ["parse", str(trained), "the dog sees a cat .", "--svg", "t.svg"])
    assert said.exit_code == 0, said.output
    tree = "(S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN cat))) (. .))"
    assert said.stdout.splitlines()[0] == tree
    assert "├── NP" in said.stdout and "DT" in said.stdout
    svg = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg") and ">NP</text>" in svg and ">dog</text>" in svg
    (tmp_path / "in.mrg").write_text(f"( {tree} )\n", encoding="utf-8")
    options = ["--file", "in.mrg", "--output", "out.conll"]
    assert ask_for.invoke(group, ["parse", str(trained), *options]).exit_code == 0
    columns = (tmp_path / "out.conll").read_text(encoding="utf-8")
    assert columns.startswith("the\tDT\t(S(NP*\ndog\tNN\t*)\nsees\tVB\t(VP*\n")
    said = ask_for.invoke(group, ["parse", str(trained), "--file", "out.conll", "--json"])
    row = json.loads(said.stdout)
    assert row["brackets"] == tree and row["text"] == "the dog sees a cat ."
    (tmp_path / "in.txt").write_text("the dog sees a cat .\n\n", encoding="utf-8")
    said = ask_for.invoke(group, ["parse", str(trained), "--file", "in.txt", "--format", "lines"])
    assert said.stdout == (
        "(S\n  (NP (DT the) (NN dog))\n  (VP\n    (VB sees)\n    (NP (DT a) (NN cat)))\n  (. .))\n"
    )
    said = ask_for.invoke(group, ["evaluate", str(trained), "--json"])
    scores = json.loads(said.stdout)
    assert scores["well_formed"] == 1 and scores["sentences"] == 30
    said = ask_for.invoke(group, ["evaluate", str(trained), "--file", "in.mrg"])
    assert "F1           100.00%" in said.stdout and "well-formed  100.00%" in said.stdout


@pytest.mark.end_to_end
def test_a_server_answers_with_trees(trained: Path) -> None:
    expected = regard.load(trained, device="cpu").parse("the dog sees a cat .")
    with serving(str(trained)) as server:
        asked = {"text": ["the dog sees a cat .", "a man sleeps ."], "beam": 1}
        parses = server.post("/v1/parse", asked).json()["parses"]
        assert parses[0]["brackets"] == expected.brackets and parses[0]["tags"] == expected.tags
        assert parses[1]["words"] == ["a", "man", "sleeps", "."]
        assert server.post("/v1/parse", {"text": " "}).status_code == 400


@pytest.mark.end_to_end
def test_what_it_refuses(trained: Path, tmp_path: Path) -> None:
    model = regard.load(trained, device="cpu")
    with refused(MisuseError, problem="the sentence has no words"):
        model.parse(" ")
    with refused(MisuseError, got="two words"):
        model.parse([["two words"]])
    with pytest.raises(MisuseError, match="translate"):
        model.translate("the dog .")
    (tmp_path / "bad.mrg").write_text("(S (NN a)\n")
    said = CliRunner().invoke(group, ["parse", str(trained), "--file", str(tmp_path / "bad.mrg")])
    assert isinstance(said.exception, DataError)
    copy = shutil.copytree(trained, tmp_path / "copy")
    (copy / "encoder.json").write_text("{}")
    with pytest.raises(CheckpointError):
        regard.load(copy, device="cpu").parse("the dog .")


@pytest.mark.end_to_end
def test_a_sentence_longer_than_the_positions(tmp_path: Path) -> None:
    learned = ("model.positions=learned", "model.max_length=90", "data.max_tokens=80")
    go(ask(tmp_path, *learned, "train.steps=1", "train.validate_every=1"))
    model = regard.load(tmp_path / "run", device="cpu")
    assert len(model.parse("a " * 40).words) == 40
    with refused(MisuseError, problem="has 60 words, too many for the model's 90 positions"):
        model.parse("a " * 60)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("parse.train=1-9999", "has 240 trees"),
        ("data.max_tokens=4", "no tree is left to train with"),
    ],
)
def test_data_that_teaches_nothing(tmp_path: Path, change: str, problem: str) -> None:
    with pytest.raises((ConfigError, DataError), match=problem):
        go(ask(tmp_path, change))


@pytest.mark.parametrize("value", ["3522", "0-5", "5-3", "-3", "1-2-3", "a-b", "١-٢"])
def test_numbers_of_trees_that_are_none(value: str) -> None:
    tables = {"objective": "parse", "data": {"phrasebook": "de"}, "parse": {"train": value}}
    with refused(ConfigError, subject="train", got=value):
        make_recipe(tables, "r.toml")


def test_what_a_recipe_may_not_say() -> None:
    data = {"phrasebook": "de"}
    for tables, message in (
        ({"data": {"source": "a.en"}}, "parse needs trees"),
        ({"data": data, "train": {"start_from": "x"}}, "begins from chance"),
        ({"data": data, "model": {"preset": "gpt-tiny"}}, "needs an encoder and a decoder"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_recipe({"objective": "parse", **tables}, "r.toml")


def test_unknown_brackets_count_as_they_should(tmp_path: Path) -> None:
    """A label that training lacks cannot be put out; it counts as a bracket that is not found."""
    file = toy_trees.write(tmp_path / "t.mrg", 3)
    file.write_text(file.read_text().replace("(PP", "(XYZ"), encoding="utf-8")
    (first, *_) = [cleaned(tree) for tree in read_trees(file)]
    assert first is not None
    other = next(trees_of([bracketed(first).replace("(XYZ", "(PP").replace("(VP", "(VP")]))
    missing = "XYZ" in bracketed(first)
    assert compare(other, first).exact == (not missing)


def test_the_papers_recipe_has_the_papers_sizes() -> None:
    """Section 6.3: 4 layers, d_model 1024, 16,000 words, beam 21, α 0.3."""
    tables = read_toml(recipe_file(Path("wsj-parse")))
    recipe = make_recipe({**tables, "data": {"texts": "wsj.mrg"}}, "wsj-parse.toml")
    spec = recipe.spec(recipe.tokenizer.size)
    assert (spec.encoder_layers, spec.decoder_layers, spec.d_model) == (4, 4, 1024)
    assert (recipe.tokenizer.size, recipe.decode.beam, recipe.decode.alpha) == (16_000, 21, 0.3)
    assert recipe.decode.length_norm == "paper" and not recipe.own.tags
    # By hand: attention 4 · (1024² + 1024), FFN 2 · 1024 · 4096 + 4096 + 1024, norms 2 · 1024;
    # 4 layers of 1 attention, 4 of 2, and the table of 16,000 words.
    attention, ffn, norm = 4 * (1024**2 + 1024), 2 * 1024 * 4096 + 4096 + 1024, 2 * 1024
    layers = 4 * (attention + ffn + 2 * norm) + 4 * (2 * attention + ffn + 3 * norm)
    assert parameter_count(spec) == layers + 16_000 * 1024
    said = CliRunner().invoke(group, ["train", "wsj-parse", "--plan"])
    assert said.exit_code == 0, said.output
    assert "4+4 layers, d_model 1024, 16 heads, FFN 4096" in said.stdout
    assert f"{parameter_count(spec) / 1e6:.2f} million parameters" in said.stdout
    assert "100,000 steps of about 25,000 tokens: 2,500.0 million" in said.stdout
    assert "beam 21, alpha 0.3, length norm paper" in said.stdout


def test_a_plan_of_what_has_none() -> None:
    runner = CliRunner()
    for words, message in (
        (["--plan"], "expected a recipe"),
        (["stsb", "--plan", "train.start_from=minilm"], "the model is that of minilm"),
        (["demo", "--plan", "--find-lr"], "one at a time"),
    ):
        said = runner.invoke(group, ["train", *words])
        assert message in said.output + str(said.exception)
    assert "objective translate" in runner.invoke(group, ["train", "demo", "--plan"]).stdout
