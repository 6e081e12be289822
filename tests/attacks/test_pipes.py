"""A pipe, a device or a folder in place of a file of a run: named at once by whoever reads it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.main import group
from regard.errors import RegardError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="neither pipes nor devices have names")
# file → the commands that cannot do without it
READ_BY = {
    "run.json": ("translate", "plot", "verify", "doctor", "runs"),
    "recipe.json": ("translate", "plot", "verify", "doctor", "runs"),
    "spec.json": ("translate", "plot", "verify", "doctor", "runs"),
    "model.json": ("translate", "verify", "doctor"),
    "model.safetensors": ("translate", "verify", "doctor"),
    "tokenizer.json": ("translate", "verify", "doctor"),
    "checksums.json": ("translate", "plot", "verify", "doctor"),
    "log.jsonl": ("plot", "runs"),
    "data/valid.jsonl": ("evaluate", "doctor"),
}
REPLACED: dict[str, Callable[[Path], object]] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


def said(command: str, folder: Path) -> tuple[int, str]:
    more = ["red cat", "--engine", "torch"] if command == "translate" else []
    done = CliRunner().invoke(group, [command, str(folder), *more])
    if isinstance(done.exception, RegardError | OSError):
        return 1, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("kind", REPLACED)
@pytest.mark.parametrize("name", READ_BY)
def test_in_place_of(name: str, kind: str, toy_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(toy_run, folder, ignore=shutil.ignore_patterns("checkpoints", "tensorboard"))
    (folder / name).unlink()
    REPLACED[kind](folder / name)
    for command in READ_BY[name]:
        code, words = said(command, folder)
        assert code == (0 if command == "runs" else 1), (command, words)
        assert Path(name).name in words, (command, words)
        assert f"{kind}, not an ordinary file" in " ".join(words.split()), (command, words)
