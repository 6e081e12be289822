"""README does not rot: its Python runs, its commands parse, its files exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from regard.cli.main import group
from regard.data.phrasebook.corpus import phrasebook


def blocks(repository: Path, kind: str) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.end_to_end
def test_the_python_runs(
    repository: Path, toy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/demo").symlink_to(toy_run)
    monkeypatch.chdir(tmp_path)
    snippets = blocks(repository, "python")
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {})


def test_the_commands_parse(repository: Path) -> None:
    lines = [line for block in blocks(repository, "console") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("regard ")]
    assert len(commands) >= 7
    for name, *arguments in commands:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        command.make_context(name, arguments)


def test_the_make_targets_exist(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    text = (repository / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z][a-z0-9-]+)", text)) - {"and"}
    assert named and all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_files_and_pages_exist(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `(src/[^`]+)`", text, flags=re.MULTILINE)
    pages = re.findall(r"\]\((?!http)([^)]+)\)", text)
    assert len(files) > 20 and len(pages) > 6
    missing = [path for path in [*files, *pages] if not (repository / path).exists()]
    assert not missing


def test_the_size_of_the_phrasebook_is_the_one_stated(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    sizes = f"{len(phrasebook('de')):,} English–German and {len(phrasebook('hi')):,} English–Hindi"
    assert f"{sizes} pairs" in text


def test_the_file_map_is_in_import_order(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `src/regard/(\w+)/", text, flags=re.MULTILINE)
    first_seen = list(dict.fromkeys(rooms))
    contract = re.findall(r'"regard\.(\w+)"', (repository / "pyproject.toml").read_text())
    order = contract[: contract.index("errors") + 1][::-1]
    assert first_seen == [room for room in order if room in first_seen]
