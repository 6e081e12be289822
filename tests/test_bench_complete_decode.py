"""The benchmark of continuations: its ratios by hand, and one tiny run of everybody."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
missing = [name for name in ("ctranslate2", "transformers") if find_spec(name) is None]


def test_ratios_by_hand(bench: Path) -> None:
    from complete_decode import Row, contenders, verdicts

    speeds = {"torch": 10.0, "auto": 30.0, "transformers": 5.0, "direct-float32": 20.0}
    rows = []
    for one in contenders(Path("m")):
        speed = speeds.get(one.key)
        measured = {} if speed is None else {"one": [speed], "all": [2 * speed]}
        rows.append(Row(one, measured, failure="" if measured else "did not run"))
    found = verdicts(rows, 64)
    assert [v.reached for v in found] == ["2.00×", "0.50×", "6.00×", "1.50×"] * 2
    assert [v.holds for v in found] == [True, False, True, True] * 2


@pytest.mark.long
@pytest.mark.end_to_end
@pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
def test_everybody_runs(tmp_path: Path) -> None:
    words = ["--size", "tiny", "--prompts", "5", "--tokens", "6", "--rounds", "1"]
    command = [sys.executable, str(BENCH / "complete_decode.py"), *words]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "out.json")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for rows in json.loads((tmp_path / "out.json").read_text()).values():
        assert not [row["failure"] for row in rows if row["failure"]]
        texts = {row["contender"]["key"]: row["outputs"] for row in rows}
        assert texts["torch"] == texts["transformers"]
        assert all(len(outputs) == 5 for outputs in texts.values())
