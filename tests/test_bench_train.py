"""The benchmark of training: its arithmetic by hand, its peers against us, and one small run."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import toy
from regard.config import to_tables
from regard.data.batch import Batch, make_batch
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.text.special import Special

missing = [name for name in ("transformers", "psutil") if find_spec(name) is None]
needs_peers = pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}: extra bench")
SPEC = Spec(
    vocabulary=29, d_model=12, heads=2, encoder_layers=2, decoder_layers=1, ffn_size=20, dropout=0.0
)
PAIRS = [([5, 6, 7, 8], [9, 10]), ([11], [12, 13, 14]), ([15, 16], [17])]


@pytest.fixture
def batch() -> Batch:
    return make_batch(PAIRS, Special())


def test_the_work_of_a_step_is_counted_as_on_paper(bench: Path) -> None:
    from training.work import operations

    spec = Spec(vocabulary=5, d_model=2, heads=1, encoder_layers=1, decoder_layers=1, ffn_size=3)
    # Two source and three target tokens, in multiplications:
    #   encoder   four maps 2·4·4, FFN 2·12, scores and values 2·(2·2)·2       = 72
    #   decoder   own maps 3·4·4, cross maps 3·2·4 + 2·2·4, FFN 3·12           = 124
    #             look-ahead 2·(1+2+3)·2, cross 2·(3·2)·2                      = 48
    #   output    3·2·5                                                        = 30
    expected = 3 * 2 * (72 + 124 + 48 + 30)
    assert operations(spec, np.array([2]), np.array([3])) == expected
    # Rows are apart: what one adds does not depend on the other.
    assert operations(spec, np.array([2, 2]), np.array([3, 3])) == 2 * expected


def test_the_count_agrees_with_torchs_own_counter(bench: Path, batch: Batch) -> None:
    from torch.utils.flop_counter import FlopCounterMode
    from training.work import operations

    one = make_batch([([5, 6, 7, 8], [9, 10])], Special())  # without padding
    with FlopCounterMode(display=False) as counter:
        Transformer(SPEC).eval()(one["source"], one["target_in"], one["source_real"])
    # It counts the whole square of look-ahead attention: 3·3 pairs instead of 3·4/2.
    unseen = 2 * 2 * SPEC.d_model * 3
    work = operations(SPEC, np.array([5]), np.array([3]))
    assert counter.get_total_flops() == work // 3 + unseen


def test_the_plan_file_keeps_arrays_and_masks(bench: Path, batch: Batch, tmp_path: Path) -> None:
    from plan import read_plan, write_plan

    other = make_batch(PAIRS[:1], Special())
    write_plan(tmp_path / "plan.npz", train=[batch, other], valid=[other])
    train, valid = (read_plan(tmp_path / "plan.npz", name) for name in ("train", "valid"))
    assert len(train) == 2 and len(valid) == 1
    assert train[0]["source"].tolist() == [[5, 6, 7, 8, 2], [11, 2, 0, 0, 0], [15, 16, 2, 0, 0]]
    assert train[0]["source_real"].sum(1).tolist() == [5, 2, 3]
    assert train[0]["target_in"].tolist() == [[1, 9, 10, 0], [1, 12, 13, 14], [1, 17, 0, 0]]
    assert train[0]["target_out"].tolist() == [[9, 10, 2, 0], [12, 13, 14, 2], [17, 2, 0, 0]]
    assert train[0]["target_real"].dtype == torch.bool
    assert train[1]["target_out"].tolist() == valid[0]["target_out"].tolist() == [[9, 10, 2]]


def job(peer: str, **options: Any) -> Any:
    from train_job import TrainJob

    return TrainJob(
        peer=peer, options=options, model=to_tables(SPEC), plan=Path("none"), steps=3,
        is_validated=False, warmup=10, clip=1.0, smoothing=0.1, seed=3,
    )  # fmt: skip


REFERENCE = {"compute": {"precision": "fp32", "workers": 1, "threads": 1, "kernels": "plain"}}


@needs_peers
@pytest.mark.parametrize(
    ("peer", "options", "bound"),
    [
        ("transformers", {}, 1e-5),
        ("transformers", {"fused": True}, 1e-5),
        ("torch", {}, 5e-3),  # it has two norms more, which learn too
        ("torch", {"fused": True, "autocast": True}, 1e-2),
    ],
)
def test_without_dropout_all_learn_the_same_from_the_same_start(
    bench: Path, batch: Batch, peer: str, options: dict[str, Any], bound: float
) -> None:
    from train_measure import LEARNERS

    ours, theirs = (
        LEARNERS[name](job(name, **given))
        for name, given in (("regard", REFERENCE), (peer, options))
    )
    batches = [batch, make_batch(PAIRS[:2], Special()), batch]
    expected = list(ours.steps(batches))
    assert expected[2] < 0.99 * expected[0]  # something was learnt
    found = list(theirs.steps(batches))
    if theirs.precision == "fp32":
        assert found[0] == pytest.approx(expected[0], rel=1e-5)  # nothing was learnt before it
    assert found == pytest.approx(expected, rel=bound)
    assert theirs.loss(batch) == pytest.approx(ours.loss(batch), rel=bound)


def measured(bench: Path) -> Any:
    """One preset with made-up seconds: batches of 100 real tokens, one in five is padding."""
    from train_job import Trained
    from training.contenders import contenders
    from training.data import Lessons
    from training.rounds import Measured, Plan, Row

    seconds = {  # of a step, by rounds
        "regard": [0.1, 0.05, 0.1], "plain": [0.4, 0.4, 0.4], "torch": [0.5, 0.25, 0.5],
        "transformers": [1.0, 0.2, 0.4],
    }  # fmt: skip
    losses = {"regard": 4.04, "plain": 4.0, "torch": 4.1, "transformers": 4.0}
    megabytes = {"regard": 900.0, "plain": 700.0, "torch": 800.0, "transformers": 1000.0}
    rows = []
    for one in contenders(cores=2):
        row = Row(one)
        for second in seconds.get(one.key, []):
            # Two steps to warm up, which take ten times as long and must not count.
            times = [10 * second] * 2 + [second] * 6
            row.results.append(
                Trained("so", "fp32", {}, times, [5.0] * 8, losses[one.key], megabytes[one.key])
            )
        if not row.results:
            row.results.append(Trained(failure="no [such] thing"))
        rows.append(row)
    lengths = [np.array([10] * 5)] * 9
    plan = Plan(steps=9, rounds=3, warm_up=2, window=3, windows=2)
    lessons = Lessons(Path("none"), 29, lengths, lengths, cells=9 * 125)
    return Measured("small", SPEC, plan, lessons, rows, {"fp32": 1e7, "bf16": 5e6})


def test_speeds_are_medians_of_windows_after_the_warm_up(bench: Path) -> None:
    one = measured(bench)
    assert one.plan.timed == 8 and one.plan.cut(list(range(8))) == [2 + 3 + 4, 5 + 6 + 7]
    assert one.windows(one.row("torch"))[1] == pytest.approx([400, 400])
    assert one.speeds(one.row("regard")) == pytest.approx([1000, 2000, 1000])
    from training.work import operations

    work = operations(SPEC, np.array([10] * 5), np.array([10] * 5)) / 100  # of a token
    assert one.rate(one.row("plain")) == pytest.approx(250 * work)
    assert one.share(one.row("plain")) == pytest.approx(250 * work / 1e7)
    one.throughput.clear()
    assert one.share(one.row("plain")) is None


def test_the_first_round_makes_all_steps_and_what_it_chose_is_kept(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training import rounds

    asked = []

    def answer(script: str, question: dict[str, Any]) -> dict[str, Any]:
        asked.append(question)
        return {"seconds": [1.0] * question["steps"], "chosen": {"compute": "so"}}

    monkeypatch.setattr(rounds, "ask", answer)
    one = measured(bench)
    ours = one.row("regard")
    ours.results.clear()
    one.rows[:] = [ours]
    rounds.run_rounds(one, lambda line: None)
    assert [q["steps"] for q in asked] == [9, 8, 8]  # all; then two to warm up and two windows
    assert [q["is_validated"] for q in asked] == [True, False, False]
    assert [q["options"] for q in asked] == [{}, {"compute": "so"}, {"compute": "so"}]
    assert one.speeds(ours) == pytest.approx([100, 100, 100])


def test_goals_are_held_against_the_best_peer(bench: Path) -> None:
    from training.report import verdicts

    found = {verdict.goal: verdict for verdict in verdicts(measured(bench))}
    speed = found["regard ÷ the best peer as people write it, tokens/s"]
    # Marian's median of 100, 500 and 250 is above torch's of 200, 400 and 200.
    assert (speed.bound, speed.reached, speed.holds) == ("≥ 2.5×", "4.00× (4.00–10.00)", True)
    assert found["regard ÷ the best peer as experts write it, tokens/s"].holds is None
    loss = found["regard ÷ the lowest of the peers, validation loss"]
    assert (loss.reached, loss.holds) == ("1.01×", True)  # 4.04 / 4.00, and the bound is 1.01
    memory = found["regard ÷ the lowest of the peers, memory"]
    assert (memory.reached, memory.holds) == ("1.12×", False)  # 900 / 800
    assert len(found) == 4  # a share of the machine is a goal of base alone


def test_a_row_shows_speed_ratio_loss_memory_and_share(bench: Path) -> None:
    from training.report import show

    console = Console(width=130, record=True, file=StringIO())
    show(console, measured(bench))
    lines = console.export_text().splitlines()
    torch_row = next(line for line in lines if "torch.nn.Transformer fp32" in line).split()
    assert torch_row[2:5] == ["200", "200–400", "5.00×"]
    assert torch_row[5:9] == ["4.1000", "+2.5", "%", "800"]
    assert any("20.0% padding" in line for line in lines)
    assert any("did not run: no [such] thing" in line for line in lines)


def test_bf16_is_for_machines_that_are_faster_in_it(bench: Path) -> None:
    from training.contenders import contenders, usual

    def keys(**throughput: float) -> set[str]:
        return {row.key for row in usual(contenders(2), throughput)}

    always = {"regard", "plain", "torch", "transformers"}
    assert keys(fp32=140.0, bf16=390.0) == always | {"torch-bf16", "transformers-bf16"}
    assert keys(fp32=140.0, bf16=3.0) == always | {"torch-fused", "transformers-fused"}


@pytest.mark.needs("bf16")
def test_the_machine_is_measured_in_both_precisions(bench: Path) -> None:
    import matmul

    found = matmul.measure(cores=2, size=64, seconds=0.01)
    assert set(found) == {"fp32", "bf16"}
    assert 1e6 < found["fp32"] < 1e14


@needs_peers
def test_what_helpers_share_counts_once(bench: Path) -> None:
    from memory import peak_megabytes

    before = peak_megabytes()
    code = "held = b'x' * 60_000_000; print('ready', flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        assert helper.stdout is not None and helper.stdout.readline() == b"ready\n"
        more = peak_megabytes() - before
        helper.communicate(b"\n")
    assert 57 < more < 75  # 60 million bytes, and the interpreter's own


@contextmanager
def one_core() -> Iterator[None]:
    """Threads that wait for each other take very long while the machine does other work too."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(bench: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(bench / "train.py"), *map(str, arguments)]
    with one_core():
        return subprocess.run(command, capture_output=True, text=True)


@needs_peers
def test_what_is_missing_is_said_before_anything_runs(bench: Path, tmp_path: Path) -> None:
    done = run(bench, "--source", tmp_path / "none.en")
    assert done.returncode == 2 and done.stdout == ""
    assert "none.en: no such file; `regard data multi30k` fetches" in done.stderr


@pytest.mark.long
@pytest.mark.end_to_end
@needs_peers
def test_a_small_run_fills_the_table(bench: Path, tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 300)
    (tmp_path / "valid").mkdir()
    valid_source, valid_target = toy.write(tmp_path / "valid", 40)
    out = tmp_path / "out.json"
    done = run(
        bench, "--preset", "tiny", "--steps", "7", "--rounds", "1", "--only", "regard",
        "--only", "torch", "--pieces", "320", "--token-budget", "256", "--matmul-seconds", "0",
        "--source", source, "--target", target, "--valid-source", valid_source,
        "--valid-target", valid_target, "--json", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["matrix_throughput"] == {}
    (one,) = found["presets"]
    rows = {row["contender"]: row for row in one["rows"]}
    assert [row["failure"] for row in rows.values()] == ["", ""]
    for row in rows.values():
        assert row["name"] in done.stdout and row["layout"] in done.stdout.replace("\n", " ")
        assert len(row["tokens_per_second"]) == 1 and row["tokens_per_second"][0] > 0
        assert row["memory_mb"] > 100 and row["operations_per_second"] > 1e6
        assert 2 < row["validation_loss"] < 8  # ln 320 is 5.8
    ours, theirs = rows["regard"], rows["torch"]
    assert ours["training_losses"][0] == pytest.approx(theirs["training_losses"][0], rel=0.1)
    assert ours["validation_loss"] == pytest.approx(theirs["validation_loss"], rel=0.1)
