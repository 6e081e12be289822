"""The benchmark of GGUF files: its table by hand, and one tiny run of ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import gguf_files

BENCH = Path(__file__).parent.parent / "bench"


def test_the_table_by_hand(bench: Path) -> None:
    from gguf_speed import table

    rounds = [(1.0, 10.0, 500.0), (3.0, 30.0, 600.0), (2.0, 20.0, 550.0)]
    ours = [
        {"open": o, "speed": s, "memory": m, "text": "a cat", "version": "1"} for o, s, m in rounds
    ]
    console = Console(width=150, record=True)
    theirs = [{**one, "text": "a car", "speed": 90.0} for one in ours]
    console.print(table("a.gguf", {"regard": ours, "llama": theirs}))
    console.print(table("a.gguf", {"regard": ours, "llama": [{"failure": "no llama"}]}))
    shown = console.export_text()
    assert "2.0" in shown and "10.0–30.0" in shown and "550" in shown and "4 of 5" in shown
    assert "90.0–90.0" in shown and "no llama" in shown


@pytest.mark.long
@pytest.mark.end_to_end
def test_ours_runs_and_the_absent_one_is_told(tmp_path: Path) -> None:
    path = gguf_files.write(tmp_path / "a.gguf", gguf_files.twin(300))
    words = [str(path), "--tokens", "4", "--rounds", "1", "--json", str(tmp_path / "out.json")]
    command = [sys.executable, str(BENCH / "gguf_speed.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["regard"][0]["speed"] > 0 and found["regard"][0]["memory"] > 50
