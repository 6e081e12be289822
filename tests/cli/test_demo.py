"""`regard demo`: its folder, its commands as they are printed; test_wheel.py goes the whole way."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.demo import TOURS, _typed
from regard.cli.main import group
from regard.errors import MisuseError


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
