"""A first-time user's mistakes: each ends in a sentence that helps, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import folders
import toy
from regard.checkpoint.files import steps_saved
from regard.cli.main import main

pytestmark = pytest.mark.end_to_end

QUICK = (*toy.SMALL, "train.steps=2", "train.validate_every=2")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the user in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def regard(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    monkeypatch.setattr(sys, "argv", ["regard", *arguments])
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return code, out + err


def train_on(source: str, target: str | None = None, *more: str) -> list[str]:
    files = ["--source", source, *(["--target", target] if target else [])]
    return ["train", *files, *QUICK, *more]


Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_a_wrong_path_names_the_file_beside_it(
    empty: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    toy.write(empty, 60)
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.ed"))
    assert code == 1 and "a.ed: there is no such file; did you mean" in said and "a.de" in said
    code, said = regard(capsys, monkeypatch, *train_on("nowhere/x.en", "a.de"))
    assert code == 1 and "nowhere/x.en: there is no such file; check the path." in said
    code, said = regard(capsys, monkeypatch, *train_on(".", "a.de"))
    assert code == 1 and "is a folder, expected a file of sentences" in said
    assert not (empty / "runs").exists()


def test_one_side_forgotten_or_twice(empty: Path, capsys: Capture, monkeypatch: Patch) -> None:
    toy.write(empty, 60)
    code, said = regard(capsys, monkeypatch, *train_on("a.en"))
    assert code == 2 and "give the file of the other side as target" in said
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.en"))
    assert code == 2 and "source and target are the same file" in said
    code, said = regard(capsys, monkeypatch, "train", "a.en", "a.de")
    assert code == 2 and "for your own files: --source a.en --target a.de" in said
    code, said = regard(capsys, monkeypatch, "train", "--target", "a.de", *QUICK)
    assert code == 2 and "--source a.en --target a.de" in said
    code, said = regard(capsys, monkeypatch, "train", "a.en", *QUICK)
    assert code == 2 and "a.en: a recipe is a .toml file; for your own files:" in said
    assert not (empty / "runs").exists()


def test_a_shorter_file_is_told_with_the_lines_that_have_no_partner(
    empty: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    toy.write(empty, 60)
    lines = (empty / "a.de").read_text(encoding="utf-8").splitlines(keepends=True)
    (empty / "a.de").write_text("".join(lines[:57]), encoding="utf-8")
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.de"))
    assert code == 0
    assert (
        "no partner line (files of unequal length) in " in said
        and "a.en: 3 lines (58, 59, 60)" in said
    )
    assert "If a line is missing in the middle, all later pairs are wrong" in said
    (empty / "a.de").write_text("".join(lines[:25]), encoding="utf-8")
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.de"))
    assert code == 1 and "more than half of the corpus is unusable" in said


def test_a_spreadsheets_csv(empty: Path, capsys: Capture, monkeypatch: Patch) -> None:
    rows = [f'"{source}, ""please""","{target}, ""bitte"""' for source, target in toy.pairs(60)]
    rows[3] = '"two\r\nlines","zwei\r\nZeilen"'
    (empty / "a.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["source,target", *rows]).encode())
    code, said = regard(capsys, monkeypatch, *train_on("a.csv"))
    assert code == 0 and "60 lines read, 60 kept, 0 left out." in said
    code, said = regard(capsys, monkeypatch, *train_on("a.csv", "a.de"))
    assert code == 2 and "a .csv file holds both sides; leave out" in said


def test_windows_line_ends_and_a_mark_change_nothing(
    empty: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    source, target = toy.write(empty, 60)
    code, _ = regard(capsys, monkeypatch, *train_on("a.en", "a.de", "--run", "unix"))
    assert code == 0
    for path in (source, target):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.de", "--run", "windows"))
    assert code == 0 and "60 kept, 0 left out" in said
    unix, windows = (empty / run / "model.safetensors" for run in ("unix", "windows"))
    assert unix.read_bytes() == windows.read_bytes()


def test_files_in_other_encodings(empty: Path, capsys: Capture, monkeypatch: Patch) -> None:
    source, target = toy.write(empty, 60)
    text = target.read_text(encoding="utf-8")
    target.write_bytes(text.encode("utf-16"))
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.de"))
    assert code == 1 and "is UTF-16, expected UTF-8; convert it: iconv -f utf-16" in said
    target.write_bytes(text.replace("\n", "\r").encode())
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r"))
    code, said = regard(capsys, monkeypatch, *train_on("a.en", "a.de"))
    assert code == 1 and "its lines end in \\r alone, expected \\n" in said


def test_ctrl_c_twice_ends_at_once_and_says_how_to_go_on(empty: Path) -> None:
    toy.write(empty, 400)
    files = ["--source", "a.en", "--target", "a.de", "--run", "run"]
    # Large batches: the step that a first Ctrl-C waits for is long enough for a second one.
    slow = ("train.steps=400", "train.validate_every=1", "train.accumulate=40")
    command = [sys.executable, "-m", "regard", "train", *files, *toy.SMALL, *slow]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if any((empty / "run/checkpoints").glob("step-*")):
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Go on with: regard train --resume run" in out and "Traceback" not in err
    resumed = [sys.executable, "-m", "regard", "train", "--resume", "run"]
    steps = max(steps_saved(empty / "run/checkpoints"))
    done = subprocess.run(
        [*resumed, f"train.steps={steps + 1}"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and f"after step {steps:,}." in done.stdout, done.stderr


FEW = ("train.steps=4", "train.validate_every=4", "train.workers=1", "train.threads=1",
       "train.precision=fp32", "train.token_budget=512")  # fmt: skip


def test_plain_text_without_a_recipe(empty: Path, capsys: Capture, monkeypatch: Patch) -> None:
    """From scratch, and on a published folder with its own tokenizer."""
    (empty / "novel.txt").write_text("the cat sat on the mat and one two\n" * 120)
    folders.gpt2(empty / "published")
    small = ("model.decoder_layers=1", "model.d_model=32", "model.heads=2", "model.ffn_size=64")
    start = ("train.start_from=published", "data.max_tokens=24")
    for name, more in (("scratch", small), ("tuned", start)):
        ways = ("--objective", "complete", "--text", "novel.txt", "--run", name, *FEW, *more)
        code, said = regard(capsys, monkeypatch, "train", *ways)
        assert code == 0, said
        assert f"in windows of {24 if name == 'tuned' else 128}" in said
        code, said = regard(capsys, monkeypatch, "complete", name, "the cat", "--max-tokens", "3")
        assert code == 0 and said.startswith("the cat")
    code, said = regard(capsys, monkeypatch, "train", "--objective", "tag", "--text", "novel.txt")
    assert code == 2 and "objective: got 'tag', expected complete or chat for --text" in said
