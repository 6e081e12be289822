"""Files that would fill the memory: each costs at most its own size and 64 MB, and a second."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts memory by /proc")
def test_bombs(tmp_path: Path) -> None:
    paths = [str(HERE.parent), *sys.path]
    done = subprocess.run(
        [sys.executable, str(HERE / "measure.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert len(measured) >= 12
    for name, (growth, seconds) in measured.items():
        # blocks, not length: a file of holes takes no room, and may not take memory either
        size = sum(512 * path.stat().st_blocks for path in (tmp_path / name).iterdir())
        assert growth <= size + 64 * 2**20, (name, growth)
        assert seconds <= 1, (name, seconds)
