"""The command line as a newcomer meets it: help, typos, wrong files; each ends in a sentence."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.main import COMMANDS

pytestmark = pytest.mark.end_to_end


def regard(*arguments: str, cwd: Path, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "regard", *arguments],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_help_names_every_command_and_needs_no_torch(tmp_path: Path) -> None:
    got = regard("--help", cwd=tmp_path)
    assert got.returncode == 0
    assert all(name in got.stdout for name in COMMANDS)
    code = (
        "import sys, regard\nfrom regard.cli.main import group\n"
        "try: group(['--help'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules, 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_an_interrupt_while_it_loads_says_nothing_of_python(tmp_path: Path) -> None:
    stop = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / "click.py").write_text(stop)  # Ctrl-C in the middle of an import
    assert (got := regard("--help", cwd=tmp_path)).returncode == -signal.SIGINT
    assert got.stdout == got.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(shell: str, tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['regard']; from regard.cli.main import main; main()"

    def asked(instruction: str, **more: str) -> str:
        variables = {**os.environ, "_REGARD_COMPLETE": f"{shell}_{instruction}", **more}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=variables,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
        )
        assert done.returncode == 0 and not done.stderr
        return done.stdout

    assert "_REGARD_COMPLETE" in asked("source")
    words = {"COMP_WORDS": "regard trans", "COMP_CWORD": "trans" if shell == "fish" else "1"}
    assert "translate" in asked("complete", **words)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom regard.cli.main import group\n"
        f"try: group([{name!r}, '--help'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules, 'heavy'"
    )
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert got.returncode == 0, got.stderr
    assert f"regard {name}" in got.stdout and "Example" in got.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["trian"], 2, "no command 'trian'; did you mean \"train\"?"),
        (["train"], 2, "expected either a recipe"),
        (["train", "nothing.toml"], 2, "nothing.toml: no such recipe"),
        (["train", "--source", "a.en"], 2, "holds one side only"),
        (["train", "--source", "a.en", "--target", "b.de"], 1, "b.de: there is no such file"),
        (["train", "--source", "a.en", "--target", "a.en"], 2, "the same file"),
        (["train", "--source", "a.en", "--target", "a.de", "train.stepz=3"], 2, '"steps"'),
        (["train", "--resume", "runs/none"], 2, "runs/none: no such folder"),
        (["translate", "nowhere", "Hello"], 2, "nowhere: no such folder"),
        (["translate", "a.en", "Hello"], 2, "is a file, expected the folder of a run"),
        (["evaluate", ".", "--slices"], 1, "neither a run (no run.json)"),
        (["train", "--source", "a.en", "--target", "a.de", "--run", "a.en/x"], 1, "regard: a.en"),
        (["train", "a.toml", "--target", "a.de"], 2, "expected either a recipe"),
        (["explain", "nowhere"], 2, "Missing argument"),
        (["phrasebook", "--sample", "--slice", "itt"], 2, 'did you mean "it"'),
    ],
)
def test_mistakes_end_in_a_sentence(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\n" * 15)
    (tmp_path / "a.de").write_text("eins\nzwei\n" * 15)
    got = regard(*arguments, cwd=tmp_path)
    assert message in got.stderr, got.stderr
    assert got.returncode == code
    assert "Traceback" not in got.stderr
    assert not (tmp_path / "runs").exists()


def test_with_json_a_mistake_is_an_object_too(tmp_path: Path) -> None:
    got = regard("doctor", "no.safetensors", "--json", cwd=tmp_path)
    sentence, parts = got.stderr.splitlines()
    assert (got.returncode, got.stdout) == (2, "")
    assert sentence == "regard: no.safetensors: no such file or folder"
    assert json.loads(parts) == {
        "error": "MisuseError",
        "subject": "no.safetensors",
        "problem": "no such file or folder",
        "got": None,
        "expected": "",
        "advice": "",
    }


def test_an_interrupt_waits_for_no_thread(tmp_path: Path) -> None:
    """Python itself would wait here for the thread: half a minute."""
    code = (
        "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "from regard.cli import main\n"
        "def interrupted(**_):\n    raise KeyboardInterrupt\n"
        "ThreadPoolExecutor().submit(time.sleep, 30)\nmain.group = interrupted\n"
        "print('an answer')\nmain.main()"
    )
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=20
    )
    assert (got.returncode, got.stdout, got.stderr) == (130, "an answer\n", "\nStopped.\n")


def test_a_file_gets_every_character_even_under_an_old_code_page(tmp_path: Path) -> None:
    """As Windows has it for what is redirected; the page cp1252 knows no Greek."""
    done = subprocess.run(
        [sys.executable, "-m", "regard", "walk", "--matrices", "the-cat-sat"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Σ" in done.stdout.decode("utf-8")


def test_every_command_has_a_row_in_the_reference_and_a_page(repository: Path) -> None:
    page = repository / "docs/reference/cli.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "| `regard" in line]
    named = {word for row in rows for word in re.findall(r"[a-z]+", row.split("|")[1])}
    assert set(COMMANDS) <= named, set(COMMANDS) - named
    for row in rows:
        pages = re.findall(r"\]\(([^)]+)\)", row)
        assert pages and all((page.parent / path).is_file() for path in pages), row
