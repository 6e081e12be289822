"""The benchmark of embedding: its arithmetic by hand, and one small run of both sides."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folders

BENCH = Path(__file__).parent.parent / "bench"
missing = [name for name in ("sentence_transformers", "psutil") if find_spec(name) is None]


def measured(speeds: dict[str, list[float]], vectors: dict[str, Any]) -> Any:
    from embed_job import Result
    from embedding.contenders import contenders
    from embedding.rounds import Measured, Row

    rows = []
    for one in contenders(cores=2):
        results = [Result("", 2.0, int(2 * speed)) for speed in speeds.get(one.key, [])]
        found = vectors.get(one.key)
        rows.append(Row(one, results or [Result(failure="no such thing")], found))
    return Measured("set", Path("m"), ["a b"], 3, rows)


def test_goals_by_hand(bench: Path) -> None:
    from embedding.report import verdicts

    vectors = {
        "regard": np.array([[1.0, 0.0], [3.0, 4.0]]),
        "as-used": np.array([[2.0, 0.0], [4.0, 3.0]]),
    }
    speeds = {
        "regard": [500.0, 700.0, 600.0],
        "as-used": [200.0, 250.0, 240.0],
        "batch-64": [260.0, 255.0, 250.0],
    }
    found = verdicts(measured(speeds, vectors))
    assert [v.reached for v in found] == [
        "2.50× (2.50–2.80)",  # 600 / 240
        "2.35× (1.92–2.75)",  # 600 / 255
        "0.9800000",  # (1 + 24/25) / 2
        "0.9600000",
    ]
    assert [v.holds for v in found] == [True, True, False, False]
    nobody = verdicts(measured({"regard": [1.0]}, {}))
    assert [v.holds for v in nobody] == [None, None, None, None]


@pytest.mark.long
@pytest.mark.end_to_end
@pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
def test_both_sides_run_and_agree(tmp_path: Path) -> None:
    folders.bert(tmp_path / "m", "")
    (tmp_path / "m/tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(folders.LINES[:40]), encoding="utf-8")
    command = [sys.executable, str(BENCH / "embed.py"), "--model", str(tmp_path / "m")]
    command += ["--file", str(texts), "--rounds", "1", "--json", str(tmp_path / "found.json")]
    for key in ("regard", "as-used"):
        command += ["--only", key]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads((tmp_path / "found.json").read_text())["sets"]
    assert [row["failure"] for row in one["rows"]] == ["", ""]
    assert one["sentences"] == 40
    assert one["rows"][0]["cosine_least"] > 0.99999
    assert "sentences/s" in done.stdout and "batch_size=32" in done.stdout


def test_an_unknown_contender_is_named(tmp_path: Path) -> None:
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    command = [sys.executable, str(BENCH / "embed.py"), "--only", "nobody"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "expected one of regard, fp32, bf16, as-used" in done.stderr
