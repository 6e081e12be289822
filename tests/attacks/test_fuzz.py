"""Some cases of the fuzzer for every kind of folder; in the long tests, minutes of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz.py"
KINDS = ("run", "engine", "index", "published", "gguf")


def fuzz(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FUZZ), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.end_to_end
@pytest.mark.needs("int8")
@pytest.mark.skipif(sys.platform != "linux", reason="forks, pipes and devices")
@pytest.mark.parametrize("kind", ("run", "published"))
def test_a_named_error_or_the_right_answer(kind: str) -> None:
    fuzz("--kind", kind, "--cases", "4")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="forks, pipes and devices")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(1, 5))
def test_for_minutes(kind: str, seed: int) -> None:
    fuzz("--kind", kind, "--minutes", "15", "--seed", str(100 + seed))
