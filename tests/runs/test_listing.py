"""`regard runs` and `regard plot`, on runs that were trained, cut off and broken."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import toy
from refusals import refused
from regard.checkpoint.files import read_own_json
from regard.cli.main import group
from regard.errors import DataError, MisuseError
from regard.runs.curves import in_one_picture, read_curves
from regard.runs.folder import RunFolder, only_one, write_own_json
from regard.runs.listing import age_in_words, list_runs
from regard.runs.log import read_log

pytestmark = pytest.mark.end_to_end


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(group, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_finished_run(toy_run: Path) -> None:
    (row,) = list_runs(toy_run.parent)
    checks = [r for r in read_log(toy_run / "log.jsonl") if r["kind"] == "validation"]
    assert (row.state, row.step, row.steps) == ("finished", 30, 30)
    assert row.loss == min(r["loss"] for r in checks)
    assert row.score_name == "BLEU" and row.score == max(r["bleu"] for r in checks)
    assert (row.minutes, row.ended) == (None, "steps")
    weights = json.loads(toy_run.joinpath("spec.json").read_text())
    assert weights["d_model"] == 32 and row.parameters is not None and row.parameters > 10_000
    assert row.data == "a.en → a.de"
    assert [one.folder for one in list_runs(toy_run)] == [row.folder]


@pytest.mark.parametrize(
    ("train", "info", "shown"),
    [
        ({"steps": None, "minutes": 15.0}, {"ended": "minutes"}, "15 minutes"),
        ({"steps": 100_000, "minutes": 15.0}, {}, "15 minutes"),  # of an earlier version
        (
            {"steps": 100_000, "minutes": 15.0},
            {"ended": "minutes", "expected_steps": 900.0},
            "100,000 steps or 15 minutes",
        ),
        ({"steps": 3200, "minutes": None}, {"ended": "patience"}, "3,200 steps (stopped early)"),
        ({"steps": 3200, "minutes": None}, {"ended": ""}, "3,200 steps (stopped early)"),
    ],
)
def test_what_a_run_was_aimed_at(
    toy_run: Path,
    tmp_path: Path,
    train: dict[str, object],
    info: dict[str, object],
    shown: str,
) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(toy_run, run.folder)
    recipe = read_own_json(run.recipe)
    recipe["train"] |= train
    write_own_json(run.recipe, recipe)
    run.update_info(**{"ended": "", **info})
    assert f"  30  {shown}  " in invoke("runs", str(tmp_path))
    (listed,) = json.loads(invoke("runs", str(tmp_path), "--json"))
    assert listed["minutes"] == train["minutes"]


@pytest.mark.parametrize(
    ("objective", "numbers", "labels", "shown"),
    [
        ("classify", {"accuracy": 0.91277, "f1": 0.9}, "one", "accuracy 0.9128"),
        ("classify", {"accuracy": 0.91277, "f1": 0.9}, "several", "F1 0.9000"),
        ("similar", {"spearman": 0.8672, "partners": 0.5}, "one", "Spearman 0.8672"),
        ("similar", {"spearman": 0.8672, "accuracy": 0.5}, "one", "Spearman 0.8672"),
        ("translate", {"perplexity": 3.0, "bleu": 35.25}, "one", "BLEU 35.2"),
        ("translate", {"perplexity": 3.0, "bleu": None}, "one", ""),
        ("of a later version", {"perplexity": 3.0, "bleu": 35.25}, "one", ""),
    ],
)
def test_a_run_is_judged_by_the_score_of_its_objective(
    toy_run: Path,
    tmp_path: Path,
    objective: str,
    numbers: dict[str, float],
    labels: str,
    shown: str,
) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(toy_run, run.folder)
    recipe = read_own_json(run.recipe)
    recipe["objective"], recipe["data"]["labels"] = objective, labels
    write_own_json(run.recipe, recipe)
    run.update_info(log_sha256="")  # of the log that is written now
    run.log.write_text(json.dumps({"kind": "validation", "step": 30, "loss": 1.0, **numbers}))
    (row,) = list_runs(tmp_path)
    assert (row.score_name == "") == (shown == "") and row.state == "finished"
    assert shown in invoke("runs", str(tmp_path))


def test_states_and_order(toy_run: Path, tmp_path: Path) -> None:
    for name in ("old", "cut", "going", "broken"):
        shutil.copytree(toy_run, tmp_path / "deep" / name)
    for name in ("cut", "going"):
        RunFolder(tmp_path / "deep" / name).update_info(state="training")
    (tmp_path / "deep/broken/run.json").write_text("{")
    old = time.time() - 3 * 86_400
    for name in ("run.json", "log.jsonl"):
        os.utime(tmp_path / "deep/old" / name, (old, old))
    with only_one(RunFolder(tmp_path / "deep/going")):
        rows = {Path(row.folder).name: row for row in list_runs(tmp_path)}
    states = {name: row.state for name, row in rows.items()}
    assert states == {"old": "finished", "cut": "cut off", "going": "training", "broken": "damaged"}
    assert list(rows)[-1] == "old" and "3 days ago" in invoke("runs", str(tmp_path))
    listed = json.loads(invoke("runs", str(tmp_path), "--json"))
    assert len(listed) == 4 and {"folder", "state", "loss", "parameters"} <= set(listed[0])


DAMAGE: dict[str, tuple[str, bytes | None, str]] = {
    "run.json is no JSON": ("run.json", b"{", "run.json: not valid JSON"),
    "run.json is empty": ("run.json", b"", "run.json: not valid JSON"),
    "run.json is no text": ("run.json", b"\xff\x00", "run.json: not valid JSON"),
    "run.json is too deep": ("run.json", b"[" * 100_000, "run.json: not valid JSON"),
    "run.json is a list": ("run.json", b"[]", "run.json: got list, expected a JSON object"),
    "a state that is none": ("run.json", b'{"state": 5}', "run.json: its state is 5"),
    "a step that is none": (
        "run.json",
        b'{"state": "finished", "step": "x"}',
        "run.json: its step is 'x'",
    ),
    "run.json is gone": ("run.json", None, "run.json: cannot be read: No such file"),
    "recipe.json is gone": ("recipe.json", None, "recipe.json: cannot be read: No such file"),
    "no tables": ("recipe.json", b"{}", "recipe.json: holds no tables [train] and [data]"),
    "steps that are none": (
        "recipe.json",
        b'{"data": {}, "train": {"steps": "x"}}',
        "recipe.json: train.steps is 'x', expected a number",
    ),
    "spec.json is gone": ("spec.json", None, "spec.json: cannot be read: No such file"),
    "spec.json is no spec": ("spec.json", b'{"d_model": "x"}', "spec.json"),
    "a log that is no text": ("log.jsonl", b"\xff\n\xfe\n", "log.jsonl: 1 line is no record"),
    "a log of numbers": ("log.jsonl", b"5\n[]\n{}\n", "log.jsonl: 2 lines are no records"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_a_row_that_says_what_is_wrong(toy_run: Path, tmp_path: Path, kind: str) -> None:
    """And the others are listed as ever. The broken one is from before there were checksums."""
    for name in ("whole", "broken"):
        shutil.copytree(toy_run, tmp_path / name)
    RunFolder(tmp_path / "broken").checksums.unlink()
    name, content, problem = DAMAGE[kind]
    file = tmp_path / "broken" / name
    file.unlink() if content is None else file.write_bytes(content)
    listed = {
        Path(row["folder"]).name: row for row in json.loads(invoke("runs", str(tmp_path), "--json"))
    }
    assert (listed["whole"]["state"], listed["whole"]["problem"]) == ("finished", "")
    assert listed["broken"]["state"] == "damaged"
    assert problem in listed["broken"]["problem"] and str(file) in listed["broken"]["problem"]
    table = invoke("runs", str(tmp_path)).splitlines()
    (row,) = [line for line in table if line.startswith(str(tmp_path / "broken"))]
    assert " damaged " in row and problem in row and len(table) == 3


@pytest.mark.parametrize("name", ["run.json", "log.jsonl", "recipe.json"])
def test_a_file_that_cannot_be_read_is_damage(toy_run: Path, tmp_path: Path, name: str) -> None:
    """A folder of that name stands for all the ways in which the system refuses."""
    run = tmp_path / "run"
    shutil.copytree(toy_run, run)
    (run / name).unlink()
    (run / name).mkdir()
    (row,) = list_runs(tmp_path)
    assert row.state == "damaged"
    assert row.problem.startswith(f"{run / name}: cannot be read: ")


def test_a_log_with_a_broken_line_still_tells_the_rest(toy_run: Path, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    shutil.copytree(toy_run, run.folder)
    (before,) = list_runs(tmp_path)
    lines = run.log.read_bytes().splitlines(keepends=True)
    run.log.write_bytes(b"".join([lines[0], b"\0" * 512 + b"\n", *lines[1:]]))
    (row,) = list_runs(tmp_path)
    assert row.problem == f"{run.log}: 1 line is no record; the others are read"
    assert (row.step, row.loss, row.score) == (before.step, before.loss, before.score)
    run.log.write_bytes(b"".join([*lines, b'{"kind": "tr']))  # cut by a crash: no damage
    assert list_runs(tmp_path)[0].state == "finished"


def test_odd_values_in_any_place_hide_no_list(toy_run: Path, tmp_path: Path) -> None:
    for name in ("whole", "odd"):
        ignored = shutil.ignore_patterns("checkpoints", "data", "tensorboard")
        shutil.copytree(toy_run, tmp_path / name, ignore=ignored)
    RunFolder(tmp_path / "odd").checksums.unlink()  # it is from before there were any
    tried = 0
    for name in ("run.json", "recipe.json", "spec.json"):
        file = tmp_path / "odd" / name
        content = {k: v for k, v in json.loads(file.read_text()).items() if k != "checksum"}
        tables = [key for key, value in content.items() if isinstance(value, dict)]
        inner = [(table, key) for table in tables for key in content[table]]
        for place in [*((key,) for key in content), *inner]:
            for odd in ("x\n\ud800", 10**400):
                changed = json.loads(json.dumps(content))
                holder = changed if len(place) == 1 else changed[place[0]]
                holder[place[-1]] = odd
                file.write_text(json.dumps(changed))
                if isinstance(odd, str):
                    assert len(json.loads(invoke("runs", str(tmp_path), "--json"))) == 2
                else:
                    assert len(invoke("runs", str(tmp_path)).splitlines()) == 3
                tried += 1
        file.write_text(json.dumps(content))
    assert tried > 200


def test_a_clock_that_was_wrong_changes_no_order(toy_run: Path, tmp_path: Path) -> None:
    """Written in the future, as the clock is now: it comes first, and is as new as can be."""
    for name, days in {"before": -1, "ahead": 3, "far": 400}.items():
        shutil.copytree(toy_run, tmp_path / name)
        when = time.time() + days * 86_400
        for file in ("run.json", "log.jsonl"):
            os.utime(tmp_path / name / file, (when, when))
    rows = list_runs(tmp_path)
    assert [Path(row.folder).name for row in rows] == ["far", "ahead", "before"]
    assert [row.seconds for row in rows[:2]] == [0.0, 0.0]


def test_a_run_that_was_killed_is_cut_off(tmp_path: Path) -> None:
    source, target = toy.write(tmp_path, 200)
    files = ["--source", str(source), "--target", str(target), "--run", str(tmp_path / "run")]
    changes = [*toy.SMALL, "train.steps=100000", "train.validate_every=5", "train.patience=0"]
    command = [sys.executable, "-m", "regard", "train", *files, *changes]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not any(r["step"] >= 10 for r in read_log(tmp_path / "run/log.jsonl")):
            assert process.poll() is None
            time.sleep(0.05)
        (alive,) = list_runs(tmp_path)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    (dead,) = list_runs(tmp_path)
    assert (alive.state, dead.state) == ("training", "cut off")
    assert dead.step >= 10


def test_no_runs_and_no_folder(tmp_path: Path) -> None:
    assert invoke("runs", str(tmp_path)).startswith("No runs in ")
    with refused(MisuseError, problem="no such folder"):
        list_runs(tmp_path / "nothing")


def test_ages() -> None:
    assert [age_in_words(s) for s in (5, 60, 7300, 200_000)] == [
        "now",
        "1 minute",
        "2 hours",
        "2 days",
    ]


def test_curves_are_those_of_the_log(toy_run: Path, tmp_path: Path) -> None:
    records = read_log(toy_run / "log.jsonl")
    (loss,) = read_curves([RunFolder(toy_run)], "loss")
    assert loss.checks == [(r["step"], r["loss"]) for r in records if r["kind"] == "validation"]
    assert [step for step, _ in loss.steps] == [1, 10, 20, 30]
    (rate,) = read_curves([RunFolder(toy_run)], "rate")
    assert rate.steps[0][1] == next(r["learning_rate"] for r in records if r["kind"] == "train")
    other = tmp_path / "x" / toy_run.name
    shutil.copytree(toy_run, other)
    assert [c.name for c in read_curves([RunFolder(toy_run), RunFolder(other)], "bleu")] == [
        f"{toy_run.parent.name}/{toy_run.name}",
        f"x/{toy_run.name}",
    ]
    (other / "log.jsonl").write_text("")
    RunFolder(other).update_info(log_sha256="")
    with refused(DataError, problem="holds no loss to draw"):
        read_curves([RunFolder(other)], "loss")


@pytest.mark.parametrize("what", ["loss", "score", "bleu", "rate"])
def test_plot_draws_files_and_the_terminal(toy_run: Path, tmp_path: Path, what: str) -> None:
    png, svg = tmp_path / "a.png", tmp_path / "a.svg"
    call = ["plot", str(toy_run), "--what", what, "--png", str(png), "--svg", str(svg)]
    done = CliRunner().invoke(group, call, catch_exceptions=False)
    assert (done.stdout, done.stderr) == ("", f"Written: {png}\nWritten: {svg}\n")
    assert png.read_bytes().startswith(b"\x89PNG")
    drawn = svg.read_text()
    assert "<svg" in drawn and "Date" not in drawn
    shown = invoke("plot", str(toy_run), "--what", what)
    assert "optimizer step" in shown and "┤" in shown


def test_a_picture_says_what_was_trained_in_text(toy_run: Path, tmp_path: Path) -> None:
    """The title is of data and size, the folder's name is in the legend; SVG text is text."""
    svg = tmp_path / "a.svg"
    invoke("plot", str(toy_run), "--svg", str(svg))
    words = re.findall(r"<text[^>]*>([^<]+)</text>", svg.read_text(encoding="utf-8"))
    assert "Translation: a.en → a.de, 0.03 million parameters" in words
    assert toy_run.name in words and "optimizer step" in words
    first = svg.read_bytes()
    invoke("plot", str(toy_run), "--svg", str(svg))
    assert svg.read_bytes() == first


def test_runs_with_nothing_in_common_are_titled_one_by_one(toy_run: Path, tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "other")
    shutil.copytree(toy_run, other.folder)
    recipe = read_own_json(other.recipe)
    recipe["data"] |= {"source": "/x/b.en", "target": "/x/b.hi"}
    write_own_json(other.recipe, recipe)
    both = in_one_picture(read_curves([RunFolder(toy_run), other], "loss"), "loss")
    assert both.title == "2 runs compared" and both.columns == 1
    assert both.series[1][0].startswith("other  (Translation: b.en → b.hi, ")
    same = in_one_picture(read_curves([RunFolder(toy_run), RunFolder(toy_run)], "loss"), "loss")
    assert same.title.startswith("Translation: a.en → a.de")


def test_one_validation_is_a_labelled_point_and_a_sentence(toy_run: Path, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "young")
    shutil.copytree(toy_run, run.folder)
    records = [r for r in read_log(run.log) if r["kind"] == "train" or r["step"] == 10]
    run.log.write_text("".join(json.dumps(r) + "\n" for r in records))
    run.update_info(log_sha256="")
    (loss,) = (r["loss"] for r in records if r["kind"] == "validation")
    shown = invoke("plot", str(run.folder))
    assert "training loss" in shown and "┤" in shown
    assert f"young: one validation so far, validation loss {loss:.4g} at step 10" in shown
    score = invoke("plot", str(run.folder), "--what", "score")
    assert score.startswith("young: one validation so far, BLEU ") and "┤" not in score
    svg = tmp_path / "a.svg"
    invoke("plot", str(run.folder), "--svg", str(svg))
    assert f"{loss:.4g} at step 10" in svg.read_text(encoding="utf-8")


def test_two_runs_are_told_apart_without_colour(toy_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(toy_run, other)
    shown = invoke("plot", str(toy_run), str(other))
    assert f"  a {toy_run.name}" in shown and "  b other" in shown
