"""What is said before the first step, and what is refused."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toy
from regard.checkpoint.files import read_own_json
from regard.config import build
from regard.data.store import ColumnKind, Store, write_store
from regard.errors import MisuseError
from regard.fit import preflight
from regard.fit.preflight import (
    BatchShapes,
    _time_line,
    checkpoint_bytes,
    coverage,
    duration,
    shapes_of,
    size,
)
from regard.fit.train import Request, train
from regard.model.presets import preset
from regard.model.spec import Spec
from regard.prepare.epochs import lengths_of
from regard.prepare.pairs import PreparedPairs
from regard.runs.recipe import make_recipe
from regard.runs.sections import TrainSection
from regard.text.tokenizer import Tokenizer
from regard.training.memory_estimate import BatchShape

SPEC = preset("tiny", 320)


def request(tmp_path: Path, *extra: str) -> Request:
    source, target = toy.write(tmp_path, 300)
    changes = (*toy.SMALL, "train.steps=4", "train.validate_every=4", *extra)
    return Request(source=source, target=target, assignments=changes, folder=tmp_path / "run")


def said(asked: Request) -> str:
    lines: list[str] = []
    train(asked, lines.append)
    return "\n".join(lines)


@pytest.mark.end_to_end
def test_everything_is_said_before_the_first_step(tmp_path: Path) -> None:
    text = said(request(tmp_path))
    before = text[: text.index("Training ended")]
    for pattern in (
        r"Model: +.*parameters",
        r"Memory: +about [\d.]+ [MG]B at peak \(weights .*, Adam .*, gradients .*, activa.*\)",
        r"Disk: +about \d+.* [kM]B for checkpoints; .* are free",
        r"Time: +about [\d.:]+ (seconds|minutes) an epoch \([\d,]+ tokens at [\d,]+ a second\)",
        r"Batches: +\d+ an epoch, \d+\.\d% padding; the largest \d+ × \(\d+ \+ \d+\) tokens",
        r"Coverage: +validation has \d\.\d\d pieces a word; 0\.00% are unknown",
    ):
        assert re.search(pattern, before), (pattern, text)
    assert "Look at:" not in text


def test_the_time_by_hand() -> None:
    """6,000 tokens at 200 a second: half a minute an epoch of 20 batches; 90 steps are 4.5."""
    shapes = BatchShapes(20, 6000, 0.1, BatchShape(1, 1, 1), np.array([0]))
    line = _time_line(shapes, TrainSection(steps=90), 200.0)
    assert "about 30 seconds an epoch (6,000 tokens at 200 a second)" in line
    assert "90 steps are 4.5 epochs, 2:15 minutes" in line
    for minutes, said in ((2, "2 minutes are at most 4.0 epochs"), (3, "90 steps are 4.5 epochs")):
        limited = TrainSection(steps=90, minutes=minutes)
        assert said in _time_line(shapes, limited, 200.0)


@pytest.mark.end_to_end
def test_suspicious_data_is_named(tmp_path: Path) -> None:
    job = request(tmp_path)
    assert job.source and job.target
    job.target.write_text(job.source.read_text() + "and some\nmore lines\n")
    text = said(job)
    assert "Look at:    both sides are made of the same words" in text
    assert "If a line is missing in the middle, all later pairs are wrong" in text


@pytest.mark.end_to_end
def test_too_little_memory_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    job = request(tmp_path, "train.memory=1")
    with pytest.raises(MisuseError, match="memory: training needs about .* --force tries"):
        said(job)
    assert not (tmp_path / "run").exists()


@pytest.mark.end_to_end
def test_the_advice_follows_from_what_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "room", lambda megabytes, processes=1: 60_000_000)
    with pytest.raises(MisuseError, match="smaller model"):
        said(request(tmp_path, "model.d_model=512"))
    with pytest.raises(MisuseError, match=r"lower train\.token_budget \(50,000\) and raise"):
        said(request(tmp_path, "train.token_budget=50000"))
    assert "all 4 steps are done" in said(request(tmp_path))


@pytest.mark.end_to_end
@pytest.mark.parametrize("key", ["workers", "threads"])
def test_workers_that_memory_has_no_room_for_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """Each is a process with a program of its own; the model is not what is too large."""
    monkeypatch.setattr("regard.training.memory_limit.free_memory", lambda: 4 * 10**9)
    with pytest.raises(MisuseError, match=rf"memory: .*; lower train.{key} \(200\)"):
        train(request(tmp_path, f"train.{key}=200"), lambda line: None)


@pytest.mark.end_to_end
def test_a_full_disk_is_refused_and_can_be_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1000

    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda path: Usage)
    job = request(tmp_path)
    with pytest.raises(MisuseError, match=r"disk: checkpoints need about .*, 1 kB are free"):
        said(job)
    assert "all 4 steps are done" in said(replace(job, force=True))


@pytest.mark.end_to_end
def test_checkpoints_take_what_was_said(tmp_path: Path) -> None:
    """The folder of a finished run, beside the estimate, which counts one more being written."""
    said(request(tmp_path, "train.steps=8", "train.validate_every=2", "train.average=3"))
    run = tmp_path / "run"
    spec = build(Spec, read_own_json(run / "spec.json"), "spec")
    real = sum(p.stat().st_size for p in run.rglob("*.safetensors"))
    recipe = make_recipe(read_own_json(run / "recipe.json"), "recipe")
    estimate = checkpoint_bytes(spec, recipe)
    assert 0.9 * real < estimate < 2.2 * real


def stored(folder: Path, pairs: Sequence[tuple[Any, Any]], size: int) -> Store:
    rows = ({"source": source, "target": target} for source, target in pairs)
    return write_store(folder, dict.fromkeys(("source", "target"), ColumnKind(size)), rows)


def test_padding_and_the_largest_batch_by_hand(tmp_path: Path) -> None:
    """Lengths 1 and 3 on both sides in one batch: 4 + 4 positions wide, 4 of 16 are padding."""
    pairs = [([5], [6]), ([5, 6, 7], [7, 8, 9])]
    store = stored(tmp_path / "s", pairs, 320)
    lengths = lengths_of(store)
    both = shapes_of(lengths, SPEC, TrainSection(token_budget=100))
    assert (both.batches, both.tokens) == (1, 12)
    assert both.padding == pytest.approx(4 / 16)
    assert (both.largest.rows, both.largest.source, both.largest.target) == (2, 4, 4)
    alone = shapes_of(lengths, SPEC, TrainSection(token_budget=8))
    assert alone.batches == 2 and alone.padding == 0
    assert (alone.largest.rows, alone.largest.source) == (1, 4)


def test_coverage_by_hand(tmp_path: Path) -> None:
    """Words a b c in training; validation has a, a word that is nowhere, and ids of both."""
    tokenizer = Tokenizer.train(["a b", "c c"], "words", 20)
    train_pairs = [(tokenizer.encode("a b"), tokenizer.encode("b"))]
    valid = [("a zebra", "c")]
    stores = []
    for name, pairs in (("t", train_pairs), ("v", [tuple(map(tokenizer.encode, valid[0]))])):
        stores.append(stored(tmp_path / name, pairs, tokenizer.size))
    counts = coverage(PreparedPairs(tokenizer, stores[0], stores[1], valid))
    assert (counts.tokens, counts.words, counts.unknown, counts.unseen) == (3, 3, 1, 1)


def test_bytes_of_rare_characters_are_counted(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["aber der Hund"] * 3, "bytes", 270)
    ids = tokenizer.encode("aब")  # a letter of three bytes that no text of training holds
    store = stored(tmp_path / "s", [(ids, ids)], tokenizer.size)
    counts = coverage(PreparedPairs(tokenizer, store, store, [("aब", "aब")]))
    assert counts.bytewise == 6 and counts.unknown == 0 and counts.unseen == 0
    assert counts.tokens == 2 * len(ids)


@pytest.mark.parametrize(
    ("count", "text"),
    [(900, "1 kB"), (12_345_678, "12.3 MB"), (123_456_789, "123 MB"), (2.5e9, "2.5 GB")],
)
def test_sizes(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 seconds"), (12.2, "12 seconds"), (200, "3:20 minutes"), (18_120, "5:02 hours")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
