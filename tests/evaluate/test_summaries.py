"""ROUGE by hand, and of a run that learned from documents."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import folders
import regard
import toy
from regard.api.training import train
from regard.cli.main import group
from regard.data.corpus import Limits, read_pairs
from regard.data.report import Report
from regard.prepare.rouge import rouge_of
from regard.prepare.task_metrics import judged

pytest.importorskip("rouge_score")


def test_rouge_by_hand() -> None:
    found = rouge_of(["the cat sat on"], [["the cat lay", "a dog"]])
    # words: 2 of 4 and of 3, F1 = 4/7; pairs: 1 of 3 and of 2, F1 = 2/5; in order: the same 2 words
    assert vars(found) == pytest.approx({"rouge1": 400 / 7, "rouge2": 40.0, "rougeL": 400 / 7})
    best = rouge_of(["the cat"], [["a dog", "the cat"]])  # the better of two references
    assert vars(best) == dict.fromkeys(("rouge1", "rouge2", "rougeL"), 100.0)
    assert judged("t", "rouge", ["a b", "c"], ["a b", "d"]).score == pytest.approx(50)


def rows(folder: Path, count: int) -> Path:
    """Documents of many words, each with its first colour twice as the right summaries."""
    file = folder / "documents.jsonl"
    made = [
        {"source": [s, "red blue green " * 30], "target": [t, "rot"]} for s, t in toy.pairs(count)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in made))
    return file


def test_documents_are_read_whole(tmp_path: Path) -> None:
    file, report = rows(tmp_path, 30), Report()
    pairs = list(read_pairs(file, None, report, Limits(documents=True)))
    source, target = toy.pairs(30)[0]
    assert pairs[0].source == f"{source} {'red blue green ' * 30}".strip()
    assert pairs[0].target == target and report.kept == report.total == 30


def test_a_run_on_documents_is_judged_by_rouge(tmp_path: Path) -> None:
    file, run = rows(tmp_path, 60), tmp_path / "run"
    options = dict(option.split("=") for option in toy.SMALL)
    train_options = {"steps": 4, "validate_every": 4, "warmup": 1, "token_budget": 512}
    recipe = {
        "data": {
            "source": str(file),
            "valid_source": str(file),
            "documents": True,
            "max_tokens": 40,
        },
        "tokenizer": {"size": 320},
        "model": {
            k[6:]: float(v) if "." in v else int(v) for k, v in options.items() if k[:5] == "model"
        },
        "train": {
            **train_options,
            "threads": 1,
            "workers": 1,
            "bleu_sentences": 0,
            "precision": "fp32",
        },
        "decode": {"max_length": 6, "beam": 1},
    }
    train(recipe, run=run)
    done = CliRunner().invoke(group, ["evaluate", str(run), "--source", str(file), "--json"])
    found = json.loads(done.stdout)
    assert found["documents"] == 60 and found["references"] == 120 and found["way"] == "written"
    model = regard.load(run, "cpu")
    outputs = model.summarize([" ".join(json.loads(line)["source"]) for line in file.open()])
    right = [json.loads(line)["target"] for line in file.open()]
    assert found["rougeL"] == pytest.approx(rouge_of(outputs, right).rougeL)
    assert model.summaries("red blue " * 60).windows > 2  # 40 tokens at once
    scores = model.evaluate()  # what it held out, one right summary of each
    assert scores.documents == 60 and scores.references == 60


def test_of_an_encoder_when_asked(tmp_path: Path) -> None:
    folders.bert(tmp_path / "bert", "")
    (tmp_path / "t.jsonl").write_text(
        '{"source": ["The cat sat.", "A dog."], "target": "cat sat"}\n'
    )
    words = ["evaluate", str(tmp_path / "bert"), "--source", str(tmp_path / "t.jsonl")]
    done = CliRunner().invoke(group, [*words, "--metric", "rouge", "--sentences", "5"])
    assert "ROUGE-1  57.14" in done.stdout  # 2 of 5 words and of 2: F1 = 4/7
    refused = CliRunner().invoke(group, [*words, "--length", "5"])
    assert "--metric rouge" in f"{refused.stderr} {refused.exception}"
