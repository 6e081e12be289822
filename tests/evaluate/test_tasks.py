"""Several tasks in one training: how often each is shown, how each is judged, and resuming."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import folders
import regard
from halting import digest, go, go_with_halts
from regard.checkpoint.files import read_own_json
from regard.cli.main import group
from regard.fit.job import code_of
from regard.fit.train import Request
from regard.runs.folder import RunFolder
from regard.runs.log import read_log
from regard.runs.recipe import make_recipe

pytestmark = pytest.mark.end_to_end
WORDS = folders.WORDS[:8]
TASKS = {  # prefix, weight, metric, what is made of a text
    "last": ("last: ", 1.0, "exact", lambda words: words[-1]),
    "turn": ("turn: ", 0.5, "accuracy", lambda words: " ".join(reversed(words))),
    "first": ("first: ", 2.0, "f1", lambda words: words[0]),
}


def ask(folder: Path, *changes: str, steps: int = 20) -> Request:
    """A training of the three tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks = []
    for number, (name, (prefix, weight, metric, answer)) in enumerate(TASKS.items()):
        chance = random.Random(number)
        rows = [chance.choices(WORDS, k=3) for _ in range(200)]
        lines = (f"{' '.join(row)}\t{answer(row)}\n" for row in rows)
        (folder / f"{name}.tsv").write_text("source\ttarget\n" + "".join(lines))
        task = {"name": name, "source": str(folder / f"{name}.tsv"), "prefix": prefix}
        tasks.append({**task, "weight": weight, "metric": metric})
    usual = (
        "model.preset=t5-tiny", "model.d_model=32", "model.heads=2", "model.ffn_size=64",
        "model.encoder_layers=1", "model.decoder_layers=1", "model.dropout=0.0",
        "tokenizer.kind=words", "tokenizer.size=60", "text-to-text.sentinels=0",
        "train.schedule=constant", "train.rate=0.01", "train.warmup=1", "data.validation=20",
        "train.workers=1", "train.threads=1", "train.precision=fp32", "train.label_smoothing=0.0",
        "train.token_budget=800", f"train.steps={steps}", f"train.validate_every={steps // 2}",
    )  # fmt: skip
    tables: dict[str, Any] = {"objective": "text-to-text", "data": {"tasks": tasks}}
    return Request(tables=tables, assignments=(*usual, *changes), folder=folder / "run")


def test_an_epoch_shows_each_task_by_its_weight(tmp_path: Path) -> None:
    lines = go(ask(tmp_path, steps=2))
    run = RunFolder(tmp_path / "run")
    recipe = make_recipe(read_own_json(run.recipe), "recipe")
    job = code_of(recipe).load(run, recipe)
    sizes = {task.name: task.pairs for task in job.data.tasks}  # type: ignore[attr-defined]
    assert all(150 < size < 200 for size in sizes.values())
    epochs: list[Counter[str]] = [Counter() for _ in range(2)]
    for place, batch in job.batches(0, 0):
        if place.epoch == 2:
            break
        for row in job.examples(batch):
            epochs[place.epoch][row["source"].split(" ")[0].rstrip(":")] += 1
    for shown in epochs:
        assert shown == {name: round(TASKS[name][1] * size) for name, size in sizes.items()}
    half = f"turn: {round(0.5 * sizes['turn'])} of an epoch's examples"
    assert any(half in line and line.endswith("judged by accuracy") for line in lines)


def test_each_task_is_judged_by_its_own_metric(tmp_path: Path) -> None:
    go(ask(tmp_path, steps=200))
    (check,) = [
        r for r in read_log(tmp_path / "run/log.jsonl")
        if r["kind"] == "validation" and r["step"] == 200
    ]  # fmt: skip
    scores = {name: check[f"{name} {TASKS[name][2]}"] for name in TASKS}
    assert scores["last"] > 30 and scores["first"] > 30  # a guess is right in one of eight
    assert check["score"] == pytest.approx(sum(scores.values()) / 3)
    done = CliRunner().invoke(group, ["evaluate", str(tmp_path / "run"), "--json"])
    told = json.loads(done.stdout)
    assert [(t["name"], t["metric"]) for t in told["tasks"]] == [
        ("last", "exact"), ("turn", "accuracy"), ("first", "f1"),
    ]  # fmt: skip
    done = CliRunner().invoke(group, ["evaluate", str(tmp_path / "run")])
    head, *lines = done.stdout.splitlines()
    assert head == "Tasks of the run's validation pairs, beam 1"
    assert [line.split()[0] for line in lines] == list(TASKS)
    # Worked out from the answers themselves.
    model = regard.load(tmp_path / "run", "cpu")
    rows = [json.loads(line) for line in (tmp_path / "run/data/valid.jsonl").open()]
    mine = [row for row in rows if row["task"] == "last"]
    right = sum(model.generate(row["source"]) == row["target"] for row in mine)
    assert told["tasks"][0]["score"] == pytest.approx(100 * right / len(mine))
    assert told["tasks"][0]["examples"] == len(mine)


def test_a_mixture_is_resumed_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask(tmp_path / "one"))
    with monkeypatch.context() as patch:
        go_with_halts(ask(tmp_path / "two"), [3, 13], patch)
    assert digest(tmp_path / "one/run") == digest(tmp_path / "two/run")


def test_begun_with_holes_it_goes_on_with_tasks(tmp_path: Path) -> None:
    """The vocabulary and every weight are those of the run that learned from plain text."""
    chance = random.Random(5)
    texts = [" ".join(chance.choices([*WORDS, "last:", "turn:", "first:"], k=9)) for _ in range(90)]
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "t.txt").write_text("".join(f"{text}\n" for text in texts))
    asked = ask(tmp_path / "holes", "text-to-text.corrupt=true", "text-to-text.sentinels=2")
    tables = {"objective": "text-to-text", "data": {"texts": str(tmp_path / "t.txt")}}
    go(Request(tables=tables, assignments=asked.assignments, folder=tmp_path / "first"))
    first = read_log(tmp_path / "first/log.jsonl")
    assert [r for r in first if r["kind"] == "validation"][-1]["perplexity"] > 1
    tuned = ask(tmp_path / "then")
    changes = tuple(c for c in tuned.assignments if not c.startswith(("model.", "tokenizer.")))
    start = (*changes, f"train.start_from={tmp_path / 'first'}")
    go(Request(tables=tuned.tables, assignments=start, folder=tmp_path / "second"))
    (begun,) = [r for r in read_log(tmp_path / "second/log.jsonl") if r["kind"] == "start"]
    assert begun["taken"] == begun["total"] and not begun["differing"]
    old, new = (regard.load(tmp_path / name, "cpu").tokenizer for name in ("first", "second"))
    assert old is not None and new is not None and old.size == new.size
