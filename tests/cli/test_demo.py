"""`regard demo`: the whole way in one command; what it prints can be pasted."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.demo import TOURS, _typed
from regard.cli.main import group
from regard.errors import MisuseError


@pytest.mark.end_to_end
def test_a_short_demo_goes_the_whole_way_and_names_commands_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/demo").mkdir(parents=True)  # taken
    done = CliRunner().invoke(group, ["demo", "--steps", "2"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "runs/demo is there already and stays as it is; this demo goes to runs/demo-2" in (
        done.output
    )
    assert not any((tmp_path / "runs/demo").iterdir())
    for file in ("model.safetensors", "attention.svg"):
        assert (tmp_path / "runs/demo-2" / file).is_file()
    following = done.output[done.output.index("\nNext:") :]
    commands = re.findall(r"^  (regard .+)$", following, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        pasted = CliRunner().invoke(group, shlex.split(command)[1:], catch_exceptions=False)
        assert pasted.exit_code == 0, command


def test_a_demo_that_fails_gives_its_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TOURS, "de", replace(TOURS["de"], recipe="nothing"))
    done = CliRunner().invoke(group, ["demo"])
    assert isinstance(done.exception, MisuseError)
    assert not any((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    "words", [("translate", "runs/demo", "It isn't."), ("a b", 'say "no"', "$HOME", "wow!", "")]
)
def test_a_command_is_printed_so_that_a_shell_reads_it_back(words: tuple[str, ...]) -> None:
    assert shlex.split(_typed(words)) == ["regard", *words]


def test_a_sentence_stands_in_double_quotes() -> None:
    assert _typed(("translate", "demo-de", "It isn't.")) == 'regard translate demo-de "It isn\'t."'
