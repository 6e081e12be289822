"""The benchmark of decoding: its arithmetic by hand, and one small run of all that it compares."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import toy

BENCH = Path(__file__).parent.parent / "bench"
PEERS = ("ctranslate2", "transformers", "psutil")
missing = [name for name in PEERS if find_spec(name) is None]


@pytest.fixture
def report(bench: Path) -> Any:
    """The module bench/decoding/report.py, imported as the script does."""
    from decoding import report

    return report


def measured(report: Any, speeds: dict[str, list[float]], latencies: dict[str, float]) -> Any:
    """Rows of beam 1 whose rounds took one second each; outputs differ in one word."""
    from decoding.contenders import contenders
    from decoding.rounds import Row
    from job import Result

    rows = []
    for one in contenders(cores=2):
        row = Row(one, 1)
        for speed in speeds.get(one.key, []):
            text = "a b c d e f" if one.key == "torch" else "a b c d e g"
            row.results.append(
                Result(seconds=2.0, tokens=int(2 * speed), texts=["same one", text],
                       latencies=[1.0, latencies[one.key], 99.0])
            )  # fmt: skip
        if not row.results:
            row.results.append(Result(failure="no such thing"))
        rows.append(row)
    cold = {"import torch": [2.0, 4.0, 3.0], "torch": [3.0], "ctranslate2": []}
    model = SimpleNamespace(is_trained=True)
    return report.Measured(model, None, rows, ["same one", "a b c d e f"], cold)


def test_goals_are_ratios_of_medians_against_the_best_of_the_peers(report: Any) -> None:
    speeds = {
        "torch": [100, 300, 200],
        "auto": [900, 500, 800],
        "default-int8": [200, 100, 250],
        "best-fp32": [500, 400, 450],
        "best-int8": [400, 380, 390],
    }
    latencies = {"torch": 9.0, "auto": 6.6, "default-int8": 6.0, "best-fp32": 8.0, "best-int8": 7.0}
    one = measured(report, speeds, latencies)
    found = {verdict.goal: verdict for verdict in report.verdicts(one)}
    default = found["auto ÷ CTranslate2 int8 as installed, tokens/s, greedy"]
    assert (default.reached, default.holds) == ("4.00× (3.20–5.00)", True)  # 800 / 200
    best = found["auto ÷ CTranslate2's best layout, tokens/s, greedy"]
    assert (best.reached, best.holds) == ("1.78× (1.25–1.80)", True)  # fp32 is the faster: 800/450
    latency = found["auto ÷ CTranslate2's best latency, latency, greedy"]
    assert (latency.reached, latency.holds) == ("1.10× (1.10–1.10)", True)  # 6.6 / 6.0
    torch = found["torch ÷ CTranslate2 fp32 best layout, tokens/s, greedy"]
    assert (torch.bound, torch.reached[:5], torch.holds) == ("≥ 1.0×", "0.44×", False)
    for nobody in ("torch ÷ transformers", "shortlist ÷ CTranslate2's best layout"):
        verdict = found[f"{nobody}, tokens/s, greedy"]
        assert (verdict.reached, verdict.holds) == ("–", None)
    cold = found["cold start with torch ÷ import torch"]
    assert (cold.reached, cold.holds) == ("1.00×", True)  # 3 s / the median of 2, 4, 3
    assert found["cold start with ctranslate2 ÷ import torch"].holds is None
    assert found["auto − torch, BLEU, greedy"].holds is False
    assert not any("beam 4" in name for name in found)  # which nobody ran


def test_texts_are_held_against_the_torch_engine(report: Any) -> None:
    one = measured(report, {"torch": [1], "auto": [1]}, {"torch": 1.0, "auto": 1.0})
    torch, auto = one.row("torch", 1), one.row("auto", 1)
    assert (one.same(torch), one.same(auto)) == (2, 1)
    assert one.bleu(torch) == pytest.approx(100)
    assert one.row("transformers", 1) is None


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(BENCH / "decode.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}: the extra bench")
def test_what_is_missing_is_said_before_anything_runs(tmp_path: Path) -> None:
    done = run("--run", tmp_path, "--source", tmp_path / "none.en")
    assert done.returncode == 2 and done.stdout == ""
    assert "none.en: no such file; `regard data multi30k` fetches" in done.stderr


@pytest.fixture(scope="module")
def post_norm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy language, in the norm order that `transformers` has a model for; half learnt."""
    from regard.fit.train import Request, train

    folder = tmp_path_factory.mktemp("bench")
    source, target = toy.write(folder, 400)
    schedule = ("train.steps=250", "train.warmup=60", "train.validate_every=250")
    changes = (*toy.SMALL, "model.norm_order=post", *schedule)
    train(
        Request(source=source, target=target, assignments=changes, folder=folder / "run"),
        lambda line: None,
    )
    return folder / "run"


@pytest.mark.long
@pytest.mark.end_to_end
@pytest.mark.needs("ctranslate2", "int8")
@pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}: the extra bench")
def test_a_small_run_fills_the_table_and_all_say_the_same(
    post_norm_run: Path, tmp_path: Path
) -> None:
    made = toy.pairs(12, seed=2)
    source, reference, out = tmp_path / "a.en", tmp_path / "a.de", tmp_path / "out.json"
    source.write_text("".join(f"{s}\n" for s, _ in made), encoding="utf-8")
    reference.write_text("".join(f"{t}\n" for _, t in made), encoding="utf-8")
    done = run(
        "--run", post_norm_run, "--source", source, "--reference", reference, "--beam", "1",
        "--rounds", "1", "--singles", "3", "--cold-starts", "0", "--json", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (model,) = json.loads(out.read_text(encoding="utf-8"))["models"]
    rows = {row["contender"]: row for row in model["rows"]}
    assert [key for key, row in rows.items() if row["failure"]] == []
    assert len(rows) == 8
    for row in rows.values():
        assert row["name"] in done.stdout
        assert row["tokens_per_second"][0] > 0 and row["latency_ms"][0] > 0
        assert row["memory_mb"] > 20 and 0 <= row["bleu"] <= 100
    exact = ("default-fp32", "best-fp32", "transformers")
    assert all(rows[key]["texts"] == rows["torch"]["texts"] for key in exact)
    assert all(rows[key]["tokens"] == rows["torch"]["tokens"] for key in exact)
    # auto may have chosen int8, with which a model that is hardly trained says other things.
    assert rows["auto"]["same_texts"] == 12 or "int8" in rows["auto"]["layout"]
    assert rows["transformers"]["memory_mb"] > rows["best-fp32"]["memory_mb"]  # torch is in there
    assert len(model["goals"]) == 9  # 7 ratios, 2 of BLEU
