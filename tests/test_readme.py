"""README does not rot: what it shows is run as a reader would; its files and numbers exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from console_blocks import blocks, commands
from installed import Installed, installed
from regard.cli.main import group
from regard.data.phrasebook.corpus import phrasebook
from run_page import Instead, Ran, problems_of

PIP = "installs gigabytes from a clone; tests/test_wheel.py installs the wheel instead"

# Commands of README that are not run, why, and what is run instead: `make` and pip, names on the
# hub, and what takes over a minute. A twin takes seconds: all of README has two minutes.
INSTEAD = {
    "python3 -m venv .venv": Instead(PIP, "python -m venv --without-pip .venv"),
    '.venv/bin/pip install --constraint constraints.txt --editable ".[train,fast]"': Instead(
        PIP, "regard --version"
    ),
    ". .venv/bin/activate": Instead(
        "the empty environment made above would hide regard", "test -f .venv/bin/activate"
    ),
    "regard train --source pairs/train.tsv --minutes 3 --run runs/mine": Instead(
        "three minutes", "regard train --source pairs/dev.tsv --minutes 0.05 --run runs/mine"
    ),
    'regard translate runs/mine "How are you?"': Instead(
        "what three minutes have learned",
        'regard translate runs/mine "How are you?" --max-length 5',
    ),
}

# Done before the page is: what a machine does once, and says so, the first time a model is used.
ONCE = ("regard translate demo-de Hello.", "regard translate demo-hi Hello.")


@pytest.fixture(scope="module")
def package(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(repository, tmp_path_factory)


@pytest.fixture(scope="module")
def readme(repository: Path) -> str:
    return (repository / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def file_map(repository: Path, readme: str) -> str:
    """The page with the table of files in reading order."""
    page = repository / "docs/architecture.md"
    return page.read_text(encoding="utf-8") if page.exists() else readme


@pytest.mark.end_to_end
def test_every_block_does_what_it_shows(readme: str, package: Installed, tmp_path: Path) -> None:
    """In the environment of the wheel, one after the other, beginning with an empty folder."""

    def run(command: str) -> Ran:
        done = package.run(command, tmp_path)
        return Ran(done.returncode, done.stdout)

    assert not [command for command in ONCE if run(command).code]
    problems = problems_of(readme, run, INSTEAD)
    assert not problems, "\n\n".join(problems)


def test_the_commands_parse(readme: str) -> None:
    """Also those of tables and sentences, which name models that are not run here."""
    shown = [c.text for block in blocks(readme) if block.kind == "console" for c in commands(block)]
    prose = re.sub(r"^```.*?^```", "", readme, flags=re.DOTALL | re.MULTILINE)
    named = [text for text in re.findall(r"`(regard [^`]+)`", prose) if "…" not in text]
    parts = [part for text in [*shown, *named] for part in text.split(" | ")]
    typed = [shlex.split(part)[1:] for part in parts if part.startswith("regard ")]
    assert len(typed) >= 7
    for name, *arguments in typed:
        command = group.get_command(click.Context(group), name)
        assert command is not None, name
        if arguments:  # a bare name in running text is no call
            command.make_context(name, arguments)


def test_the_make_targets_exist(repository: Path, readme: str) -> None:
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`?make ([a-z][a-z0-9-]+)", readme)) - {"and"}
    assert named and all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_files_and_pages_exist(repository: Path, readme: str, file_map: str) -> None:
    files = re.findall(r"^\| `(src/[^`]+)`", file_map, flags=re.MULTILINE)
    pages = re.findall(r"\]\((?!http|#)([^)#\s]+)", readme)
    assert len(files) > 20 and len(pages) > 6
    missing = [path for path in [*files, *pages] if not (repository / path).exists()]
    assert not missing


def test_the_size_of_the_phrasebook_is_the_one_stated(readme: str) -> None:
    sizes = f"{len(phrasebook('de')):,} English–German and {len(phrasebook('hi')):,} English–Hindi"
    assert f"{sizes} pairs" in readme


def test_the_file_map_is_in_import_order(repository: Path, file_map: str) -> None:
    rooms = re.findall(r"^\| `src/regard/(\w+)/", file_map, flags=re.MULTILINE)
    first_seen = list(dict.fromkeys(rooms))
    contract = re.findall(r'"regard\.(\w+)"', (repository / "pyproject.toml").read_text())
    order = contract[: contract.index("errors") + 1][::-1]
    assert first_seen == [room for room in order if room in first_seen]
