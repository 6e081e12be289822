"""The benchmarks of classifiers: what they print is what `regard evaluate` finds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fit.test_classify_training import OWN, ask, texts
from halting import go
from regard.cli.main import group

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, the table of its training, and another to judge it by, partly labelled wrong."""
    root = tmp_path_factory.mktemp("bench")
    go(ask(root, *OWN))
    rows = texts(200)
    (root / "train.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    wrong = [(text, "thing" if n % 4 == 0 else label) for n, (text, label) in enumerate(texts(80))]
    lines = ["text\tlabel", *(f"{text}\t{label}" for text, label in wrong)]
    (root / "dev.tsv").write_text("\n".join(lines) + "\n")
    return root


def bench(name: str, *words: object) -> str:
    command = [sys.executable, BENCH / name, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def accuracy(root: Path) -> float:
    words = ["evaluate", str(root / "run"), "--file", str(root / "dev.tsv"), "--json"]
    found = json.loads(CliRunner().invoke(group, words, catch_exceptions=False).stdout)
    return float(found["accuracy"])


def test_runs_beside_the_baseline(root: Path) -> None:
    runs = ["--run", root / "run", "--run", root / "run", "--scratch", root / "run"]
    found = json.loads(bench("classify.py", root / "train.tsv", root / "dev.tsv", *runs, "--json"))
    assert 0.5 < accuracy(root) < 1
    for name in ("from scratch", "fine-tuned, run", "fine-tuned, mean"):
        assert found[name] == pytest.approx(accuracy(root))
    assert 0.5 < found["TF-IDF + logistic regression"] < 1


def test_a_student_that_is_its_teacher(root: Path) -> None:
    file = root / "distil.json"
    run = root / "run"
    said = bench("distil.py", run, run, root / "dev.tsv", "--rounds", 2, "--json", file)
    found = json.loads(file.read_text())
    assert found["accuracy"] == [pytest.approx(accuracy(root))] * 2
    assert found["share_of_teacher"] == 1 and found["layers"] == [1, 1] and found["texts"] == 80
    assert "100.0% of the teacher's accuracy" in said
