"""`regard positions`: numbers, files, and wrong sizes; it needs no model."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from regard.cli.main import group
from regard.errors import MisuseError, RegardError


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(group, ["positions", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_defaults_are_those_of_the_notes() -> None:
    text = call().stdout
    assert text == call("--length", 50, "--dim", 128).stdout
    assert "50 positions × 128 dimensions" in text and "62.0937" in text and "0.000005" in text


def test_json_holds_the_table_of_the_notes() -> None:
    row = json.loads(call("--length", 3, "--dim", 6, "--json").stdout)
    expected = [  # sin and cos of p, p / 10000^(1/3), p / 10000^(2/3), to four places
        [0, 1, 0, 1, 0, 1],
        [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0],
        [0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0],
    ]
    assert [[round(v, 4) for v in line] for line in row["table"]] == expected
    assert row["products"][0] == 3 and len(row["deviation"]) == 6


def test_base_changes_the_waves() -> None:
    row = json.loads(call("--dim", 4, "--base", 100, "--json").stdout)
    assert row["wavelengths"][1] == pytest.approx(10 * row["wavelengths"][0])


def test_pictures(tmp_path: Path) -> None:
    svg, png = tmp_path / "a/p.svg", tmp_path / "p.png"
    call("--length", 8, "--dim", 16, "--svg", svg, "--png", png)
    assert svg.read_text(encoding="utf-8").startswith("<svg") and png.stat().st_size > 1000


def test_without_matplotlib_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(RegardError, match=r'pip install "regard\[train\]"'):
        call("--png", tmp_path / "p.png")
    assert not list(tmp_path.iterdir())


def test_wrong_sizes() -> None:
    with pytest.raises(MisuseError, match="take 6 or 8"):
        call("--dim", 7)
    with pytest.raises(MisuseError, match="length: got 0"):
        call("--length", 0)
    assert call("--length", "many").exit_code == 2
