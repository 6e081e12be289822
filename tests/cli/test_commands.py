"""Each command on a small run, called as click calls it, and its output read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import toy
from regard.cli.main import group
from regard.errors import MisuseError

pytestmark = pytest.mark.end_to_end


def call(*arguments: object, text: str | None = None) -> Result:
    result = CliRunner().invoke(group, [str(a) for a in arguments], input=text)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_train_on_own_files_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    toy.write(tmp_path, 120)
    changes = (*toy.SMALL, "train.steps=4", "train.validate_every=2")
    result = call("train", "--source", "a.en", "--target", "a.de", *changes)
    assert result.exit_code == 0
    assert "Run folder: runs/a" in result.output
    assert "120 lines read, 120 kept, 0 left out." in result.output
    assert (tmp_path / "runs/a/model.safetensors").exists()
    again = call("train", "--source", "a.en", "--target", "a.de", *changes)
    assert "Run folder: runs/a-2" in again.output


def test_translate_a_text_several_and_none(toy_run: Path) -> None:
    assert len(call("translate", toy_run, "red cat").stdout.splitlines()) == 1
    assert len(call("translate", toy_run, "red cat", "two birds").stdout.splitlines()) == 2
    assert call("translate", toy_run, "").stdout == "\n"


def test_lines_in_are_lines_out(toy_run: Path, tmp_path: Path) -> None:
    text = "red cat\n\nblue dog\r\none tree"
    assert len(call("translate", toy_run, text=text).stdout.split("\n")) == 5
    (tmp_path / "t.en").write_text(text)
    by_file = call("translate", toy_run, "--file", tmp_path / "t.en").stdout
    assert by_file == call("translate", toy_run, text=text).stdout
    assert by_file.split("\n")[1] == ""


def test_json_and_n_best(toy_run: Path) -> None:
    result = call("translate", toy_run, "red cat", "--n-best", 3, "--json")
    row = json.loads(result.stdout)
    scores = [answer["score"] for answer in row["translations"]]
    assert row["source"] == "red cat" and len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    plain = call("translate", toy_run, "red cat", "--n-best", 3).stdout.splitlines()
    assert [float(line.split("\t")[0]) for line in plain] == pytest.approx(scores, abs=1e-4)


def test_n_best_has_a_score_on_every_line(toy_run: Path) -> None:
    text = "red cat\n\nblue dog\n"
    lines = call("translate", toy_run, "--n-best", 2, text=text).stdout.split("\n")
    rows = [line.split("\t") for line in lines[:-1]]  # line, score, text
    assert [number for number, _, _ in rows] == ["1", "1", "2", "3", "3"]
    assert all(float(score) <= 0 for _, score, _ in rows)


def test_pairs_and_max_length(toy_run: Path) -> None:
    assert call("translate", toy_run, "red cat", "--with-source").stdout.startswith("red cat\t")
    row = json.loads(call("translate", toy_run, "red cat", "--max-length", 1, "--json").stdout)
    assert len(row["translations"]) == 1


def test_wrong_search_options(toy_run: Path) -> None:
    with pytest.raises(MisuseError, match="more than a beam of 2 can hold"):
        call("translate", toy_run, "x", "--beam", 2, "--n-best", 3)
    with pytest.raises(MisuseError, match="not available here|expected one of"):
        call("translate", toy_run, "x", "--device", "tpu")


def test_heads_need_a_picture(toy_run: Path) -> None:
    assert "--heads needs --svg" in call("explain", toy_run, "red cat", "--heads").output


def test_evaluate_files_and_the_runs_own_pairs(toy_run: Path, tmp_path: Path) -> None:
    own = call("evaluate", toy_run)
    assert "the run's validation pairs" in own.stdout and "tok:13a" in own.stdout
    source, target = toy.write(tmp_path, 10)
    output = tmp_path / "out.de"
    result = call(
        "evaluate", toy_run, "--source", source, "--reference", target, "--output", output, "--json"
    )
    row = json.loads(result.stdout)
    assert row["sentences"] == 10 and 0 <= row["bleu"] <= 100
    assert len(output.read_text(encoding="utf-8").splitlines()) == 10


def test_explain_draws(toy_run: Path, tmp_path: Path) -> None:
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    result = call("explain", toy_run, "red cat", "--svg", svg, "--png", png)
    assert "cross-attention, layer 1, mean of all heads" in result.stdout
    assert svg.read_text(encoding="utf-8").startswith("<svg") and png.stat().st_size > 1000
    row = json.loads(call("explain", toy_run, "red cat", "--kind", "encoder", "--json").stdout)
    assert row["columns"] == ["red", "cat", "</s>"]
    assert [sum(weights) for weights in row["weights"]] == pytest.approx([1, 1, 1], abs=1e-5)
    call("explain", toy_run, "red cat", "--heads", "--svg", svg)
    assert "every head" in svg.read_text(encoding="utf-8")


def test_phrasebook_says_what_it_holds(tmp_path: Path) -> None:
    facts = json.loads(call("phrasebook", "--json").stdout)
    assert facts["pairs"] >= 20_000 and facts["patterns"] >= 120
    listed = call("phrasebook", "--sample", "--per-pattern", 2, "--slice", "bank").stdout
    assert "Ufer" in listed and "Bank" in listed and "[bank]" in listed
    call("phrasebook", "--output", tmp_path)
    rows = (tmp_path / "train.tsv").read_text(encoding="utf-8").splitlines()
    assert all(row.count("\t") == 1 for row in rows) and len(rows) > 15_000
