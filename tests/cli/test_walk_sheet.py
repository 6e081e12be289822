"""`regard walk --matrices`: an included sheet, and how a bad one of your own ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.main import group

pytestmark = pytest.mark.end_to_end


def test_an_included_sheet_in_the_terminal_and_as_json() -> None:
    runner = CliRunner(env={"COLUMNS": "200"})
    text = runner.invoke(group, ["walk", "--matrices", "the-cat-sat-notes"]).stdout
    assert "First wrong line: step 1 (Embeddings)" in text
    # 3 × 0.4223 = 1.2669; two of the three words have a 1 there
    assert "you wrote 1.2669, it is 0.8446: 0.4223 was added three times" in text
    data = json.loads(runner.invoke(group, ["walk", "--matrices", "the-cat-sat", "--json"]).stdout)
    scores = next(step for step in data["steps"] if step["title"] == "Scores")
    assert scores["parts"][-1]["values"] == [[2, 0, 2], [0, 2, 2], [2, 2, 4]]


def test_a_bad_sheet_ends_in_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("E = [[1, 0]]\nmask = [[1, 0]]\n", encoding="utf-8")
    command = [sys.executable, "-m", "regard", "walk", "--matrices", "mine.toml"]
    got = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert got.returncode == 2 and got.stdout == ""
    assert got.stderr.startswith("regard: mine.toml: mask is 1 × 2")
    assert got.stderr.count("\n") == 1 and got.stderr.endswith("\n")
