"""The benchmark of pictures: its three rows, judged on the same pictures as `regard evaluate`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import drawn
import regard
from fit.test_see_training import SCRATCH, ask
from halting import go

BENCH = Path(__file__).parent.parent / "bench/see.py"


@pytest.mark.end_to_end
def test_a_run_beside_linear_and_cnn(tmp_path: Path) -> None:
    go(ask(tmp_path, *SCRATCH, "see.crop=1", steps=100))
    test = drawn.write_folder(tmp_path / "test", 60, seed=8)
    words = [sys.executable, str(BENCH), f"{tmp_path}/run", "--file", str(test), "--seconds", "3"]
    told = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout
    found = json.loads(told)
    (_, linear, *_), (_, cnn, seconds, _), (_, ours, *_, weights) = found["rows"]
    model = regard.load(tmp_path / "run", "cpu")
    assert ours == pytest.approx(model.evaluate(test).accuracy)  # type: ignore[union-attr]
    assert weights == sum(p.numel() for p in model.transformer.parameters())
    assert found["pictures"] == 60 and seconds == 3
    assert min(linear, cnn) > 0.4  # of three labels: both learn something
