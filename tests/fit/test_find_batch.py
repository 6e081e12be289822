"""The largest batch: estimated, then proven by a step of a limited process."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import toy
from regard.cli.main import group
from regard.errors import MisuseError
from regard.fit.find_batch import BatchTest, Tried, find_batch
from regard.fit.preflight import FIRST_USE
from regard.fit.train import Request, trial
from regard.training.memory_limit import MEGABYTE, PROGRAM

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's"),
]


def asked(tmp_path: Path, *extra: str, pairs: int = 3000) -> Request:
    source, target = toy.write(tmp_path, pairs)
    wide = ("model.d_model=128", "model.ffn_size=1024", "train.precision=fp32")
    return Request(source=source, target=target, assignments=(*toy.SMALL, *wide, *extra))


@pytest.mark.long
def test_the_largest_that_fits(tmp_path: Path) -> None:
    """In 60 MB more than a program takes, a few thousand tokens fit, not all of the corpus."""
    megabytes = (PROGRAM + FIRST_USE) // MEGABYTE + 60
    request = asked(tmp_path, f"train.memory={megabytes}")
    files = ["--source", "a.en", "--target", "a.de"]
    command = [sys.executable, "-m", "regard", "train", "--find-batch", *files]
    printed = subprocess.check_output([*command, *request.assignments], text=True, cwd=tmp_path)
    tried = re.findall(r"([\d,]+) tokens +estimated [\d,]+ MB +([\d,]+) MB at peak", printed)
    peaks = {int(b.replace(",", "")): int(peak.replace(",", "")) for b, peak in tried}
    largest = re.search(r"train\.token_budget=(\d+) \(([\d,]+) MB at peak\)", printed)
    assert largest and len(peaks) > 1 and int(largest[1]) == max(peaks)
    assert peaks[max(peaks)] <= megabytes * 1.05
    assert 256 <= max(peaks) < 20_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.de", "a.en"]


@pytest.mark.long
def test_a_batch_that_is_too_large_does_not_fit(tmp_path: Path) -> None:
    """The process that tries it says so; with memory enough the same batch fits."""
    code = "import regard.fit.find_batch as t; print(t.peak_memory())"
    base = int(subprocess.check_output([sys.executable, "-c", code], text=True)) // MEGABYTE
    with trial(asked(tmp_path)) as trainer:
        steps = {}
        for more in (60, 4000):
            command = [sys.executable, "-m", "regard.fit.find_batch", str(trainer.run.folder)]
            printed = subprocess.check_output([*command, "20000", str(base + more)], text=True)
            steps[more] = json.loads(printed)
    assert steps[60] == {"fits": False}
    assert steps[4000]["fits"] and steps[4000]["speed"] > 0
    assert base + 60 < steps[4000]["peak"] < base + 1000


def test_a_model_that_cannot_fit_at_all(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="the model alone needs about|not even the model fits"):
        find_batch(asked(tmp_path, "train.memory=20"), print)


def test_the_largest_need_not_be_the_fastest() -> None:
    tried = [Tried(512, 10, True, 9, 50.0), Tried(1024, 20, True, 19, 40.0), Tried(2048, 40, False)]
    test = BatchTest(tried, 30, 4096)
    assert (test.largest.budget, test.fastest.budget) == (1024, 512)


def test_the_command(tmp_path: Path) -> None:
    request = asked(tmp_path, pairs=600)
    files = ["--source", str(request.source), "--target", str(request.target)]
    done = CliRunner().invoke(group, ["train", "--find-batch", *files, *request.assignments])
    assert done.exit_code == 0, done.output
    assert re.search(r"Largest that fits [\d,]+ MB: train\.token_budget=\d+ \(", done.stdout)
    assert "an epoch would have fewer than 10 steps" in done.stdout
    assert "Fastest: train.token_budget=" in done.stdout
