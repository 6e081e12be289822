"""A run that is killed and resumed ends with the very bits of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import toy
from regard.runs.log import read_log

pytestmark = pytest.mark.end_to_end

STEPS = 60


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "regard", "train", *arguments]


def start(tmp_path: Path, folder: Path, *more: str, steps: int = STEPS) -> list[str]:
    source, target = toy.write(tmp_path, 400)
    changes = (*toy.SMALL, f"train.steps={steps}", "train.validate_every=7", "train.average=3")
    files = ["--source", str(source), "--target", str(target), "--run", str(folder)]
    return command(*files, *changes, *more)


def digest(folder: Path) -> dict[str, str]:
    return toy.digest(folder, STEPS)


def kill_at(process: "subprocess.Popen[bytes]", folder: Path, step: int, number: int) -> bool:
    """Send a signal as soon as the log shows that step; False if the run was over before."""
    while process.poll() is None:
        records = read_log(folder / "log.jsonl")
        if any(r["step"] >= step for r in records):
            time.sleep(random.random() * 0.05)  # anywhere within the steps that follow
            os.kill(process.pid, number)
            process.wait(timeout=60)
            return True
        time.sleep(0.002)
    return False


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("straight")
    subprocess.run(start(folder, folder / "run"), check=True, capture_output=True, timeout=300)
    return digest(folder / "run")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(sorted(random.sample([1, 10, 20, 30, 40, 50], 2)), id="two"),
        pytest.param([1, 1, 10, 10, 20, 20, 30, 40, 50], id="nine", marks=pytest.mark.long),
    ],
)
def test_sigkill_at_random_steps_changes_no_bit(
    tmp_path: Path, straight: dict[str, str], steps: list[int]
) -> None:
    folder = tmp_path / "run"
    arguments = start(tmp_path, folder)
    killed = 0
    for step in steps:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        killed += kill_at(process, folder, step, signal.SIGKILL)
        arguments = command("--resume", str(folder))
    assert killed >= len(steps) / 2
    subprocess.run(arguments, check=True, capture_output=True, timeout=300)
    assert digest(folder) == straight


def test_ctrl_c_saves_says_how_to_go_on_and_changes_no_bit(
    tmp_path: Path, straight: dict[str, str]
) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        start(tmp_path, folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert kill_at(process, folder, 20, signal.SIGINT)
    assert process.stdout is not None
    output = process.stdout.read().decode()
    assert process.returncode == 130
    assert f"Go on with: regard train --resume {folder}" in output
    again = command("--resume", str(folder))
    subprocess.run(again, check=True, capture_output=True, timeout=300)
    assert digest(folder) == straight


@pytest.mark.long  # two workers beside two processes of tests wait for each other
@pytest.mark.skipif(sys.platform != "linux", reason="several workers are for Linux")
def test_sigkill_with_two_workers_changes_no_bit_and_leaves_nobody_behind(tmp_path: Path) -> None:
    two = ("train.threads=2", "train.workers=2")
    steps, whole = 24, tmp_path / "whole"
    straight = start(tmp_path, whole, *two, steps=steps)
    subprocess.run(straight, check=True, capture_output=True, timeout=300)
    folder = tmp_path / "run"
    process = subprocess.Popen(
        start(tmp_path, folder, *two, steps=steps), stderr=subprocess.DEVNULL
    )
    while not (folder / "log.jsonl").exists():  # its workers are at work then
        time.sleep(0.01)
    others = psutil.Process(process.pid).children()
    assert kill_at(process, folder, 9, signal.SIGKILL)
    subprocess.run(command("--resume", str(folder)), check=True, capture_output=True, timeout=300)
    assert toy.digest(folder, steps) == toy.digest(whole, steps)
    assert len(others) == 1 and not psutil.wait_procs(others, timeout=30)[1]
