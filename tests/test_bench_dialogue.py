"""The benchmark of conversations: what it prints is what `regard evaluate` finds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_chat import talker as talker  # the run that remembers an animal

BENCH = Path(__file__).parent.parent / "bench"
PARTS = {"train": "train", "test": "valid"}  # option → file beside the run
pytestmark = pytest.mark.end_to_end


def test_a_run_stands_beside_the_nearest_neighbour(talker: Path) -> None:
    """Whoever looks at the last question alone cannot know which animal it was."""
    files = [f"--{part}={talker.parent / name}.jsonl" for part, name in PARTS.items()]
    command = [sys.executable, str(BENCH / "dialogue.py"), str(talker), *files, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    exact = json.loads(done.stdout)
    assert exact["regard"] == 1.0
    assert exact["nearest neighbour, by the last question"] < 0.8
    assert exact["nearest neighbour, by all that was said"] == 1.0
