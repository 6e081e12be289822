"""Standard streams that are closed, full or read by nobody; and what a model writes, in a pipe."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import every_command
from cli.every_command import CALLS, written
from cli.shell import Shell
from regard.cli.main import COMMANDS
from regard.cli.streams import echo_answer, prepared
from regard.printable import Careful

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(os.name != "posix", reason="streams are closed as in a Unix shell"),
]
ESCAPE = "\x1b[31m"


def test_there_is_a_call_of_every_command() -> None:
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("name", CALLS)
def test_with_all_streams_closed_a_command_does_its_work(
    name: str, shell: Shell, tmp_path: Path, models: Path
) -> None:
    """The files that it opens get no number of a stream, so nothing is printed into them."""
    found = {}
    for closed in ((), (0, 1, 2)):
        folder = every_command.place(tmp_path / f"closed{len(closed)}", models)
        done = shell(*CALLS[name].split(), cwd=folder, closed=closed)
        assert done.code == 0, done.err
        found[closed] = written(folder)
    assert found[()] == found[0, 1, 2]


@pytest.mark.parametrize("closed", [(0,), (1,), (2,)])
@pytest.mark.parametrize(
    "call",
    [
        "translate run --engine torch",
        "complete gpt2",
        "fill fill",
        "generate t5",
        "classify classes",
        "tag tags",
        "embed bert --json",
    ],
)
def test_a_closed_stream_is_an_empty_one(
    call: str, closed: tuple[int], shell: Shell, place: Path
) -> None:
    given = "" if 0 in closed else "the [MASK]\n" if "fill" in call else "the cat\n"
    whole = shell(*call.split(), cwd=place, text=given)
    done = shell(*call.split(), cwd=place, text=given, closed=closed)
    assert "Traceback" not in done.out + done.err, done.err
    assert done.code == whole.code
    assert done.out == ("" if 1 in closed else whole.out)
    assert whole.out or not given


TAKEN = """
import os, subprocess, sys
from regard.cli.streams import prepared
with prepared():
    with open("mine.txt", "w") as file:
        assert file.fileno() > 2, file.fileno()
        file.write("mine")
        file.flush()
        for number in (1, 2):
            os.write(number, b"a library")
        subprocess.run([sys.executable, "-c", "import os; os.write(1, b'a child')"], check=True)
        assert sys.stdin.read() == ""
"""


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(TAKEN)
    command = f"{sys.executable} code.py <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, timeout=60).returncode == 0
    assert (tmp_path / "mine.txt").read_text() == "mine"


def bash(command: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail\n{command.replace('regard', f'{sys.executable} -m regard')}",
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "call",
    [
        "regard recipe demo",
        "regard recipe",
        "regard phrasebook --sample",
        "regard walk --matrices the-cat-sat",
        "regard positions",
        "regard --help",
    ],
)
def test_a_reader_that_goes_is_no_news(call: str, tmp_path: Path) -> None:
    done = bash(f"{call} | head -1", tmp_path)
    assert done.stderr == "" and done.stdout.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_output_is_named_and_a_full_error_does_not_matter(tmp_path: Path) -> None:
    for call in ("regard recipe demo", "regard walk --matrices the-cat-sat", "regard --version"):
        done = bash(f"{call} > /dev/full", tmp_path)
        assert done.stderr == "regard: standard output: No space left on device\n", done.stderr
        assert done.returncode == 1
    for call, code in (("regard recipe demo", 0), ("regard recipe dmo", 2)):
        whole = bash(call, tmp_path)
        done = bash(f"{call} 2> /dev/full", tmp_path)
        assert (done.stdout, done.returncode) == (whole.stdout, code)


def test_an_output_that_is_no_file_is_written_into(shell: Shell, place: Path) -> None:
    import numpy as np

    kept = {}
    for name, call in {
        "picture.svg": ["positions", "--svg"],
        "vectors.npy": ["embed", "bert", "--file", "few.en", "--output"],
        "walk.html": ["walk", "run", "red", "--html"],
    }.items():
        os.mkfifo(place / name)
        with (place / "kept").open("wb") as file:
            reader = subprocess.Popen(["cat", str(place / name)], stdout=file)
            done = shell(*call, name, cwd=place)
            reader.kill() if done.code else reader.wait(timeout=60)
        assert done.code == 0 and (place / name).is_fifo(), done.err
        kept[name] = (place / "kept").read_bytes()
    assert kept["picture.svg"].startswith(b"<svg") and b"</html>" in kept["walk.html"]
    assert np.load(io.BytesIO(kept["vectors.npy"])).shape == (3, 20)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_a_model_writes_stays_as_it_is_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in ((io.StringIO(), ESCAPE), (Terminal(), "\\u001b[31m")):
        monkeypatch.setattr(sys, "stdout", stream)
        with prepared():
            assert isinstance(sys.stdout, Careful)
            echo_answer(f"{ESCAPE}a")
            print(f"{ESCAPE}b")
        assert sys.stdout is stream
        assert stream.getvalue() == f"{shown}a\n\\u001b[31mb\n"
