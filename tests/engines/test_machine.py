"""`regard doctor` without a file: what this machine offers, with what it does not survive."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from regard.cli.main import group
from regard.engines import machine
from regard.processor import kept, survives


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setenv("REGARD_SIMULATE", "bf16=SIGILL,int8=SIGSEGV,ctranslate2=SIGBUS")
    monkeypatch.setattr(machine, "SIZE", 64)
    monkeypatch.setattr(machine, "SECONDS", 0.001)


def test_it_says_what_is_used_and_why_something_is_not() -> None:
    done = CliRunner().invoke(group, ["doctor", "--json"], catch_exceptions=False)
    said = json.loads(done.stdout)
    assert done.exit_code == 0
    assert said["ways"]["fp32"]["is_used"] and said["ways"]["fp32"]["gflops"] > 0
    assert not said["ways"]["bf16"]["is_used"] and "SIGILL" in said["ways"]["bf16"]["why"]
    assert "SIGSEGV" in said["ways"]["int8"]["why"] and said["ways"]["int8"]["gflops"] is None
    assert said["libraries"]["torch"] and said["cores"] >= 1
    assert kept.read_speeds(survives.about())["fp32"] == said["ways"]["fp32"]["gflops"]
    lines = CliRunner().invoke(group, ["doctor"], catch_exceptions=False).stdout
    assert "processor   " in lines and "memory      " in lines
    assert "bf16, torch" in lines and "not used: bf16: tried in a process of its own" in lines
    assert f"caches      {said['caches']}" in lines


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_SIMULATE", "all")
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == "faiss" else name)
    report = machine.examine_machine()
    assert list(report.missing) == ["search"]
    assert "missing     regard index, regard search: pip install 'regard[search]'" in list(
        machine.lines(report)
    )


def test_all_is_for_a_file() -> None:
    done = CliRunner().invoke(group, ["doctor", "--tensors"])
    assert done.exit_code == 2 and "--tensors: lists the tensors of PATH" in done.stderr
