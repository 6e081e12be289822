"""The pages of docs/ do not rot: links, commands, outputs, code lines, names of tests are real."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from regard.cli.main import group

REPOSITORY = Path(__file__).parent.parent
PAGES = sorted((REPOSITORY / "docs").rglob("*.md"))
NAMES = [str(page.relative_to(REPOSITORY / "docs")) for page in PAGES]
CUT = "…"  # a line of its own: something was left out of an output here


def text_of(name: str) -> str:
    return (REPOSITORY / "docs" / name).read_text(encoding="utf-8")


def commands_in(name: str) -> list[tuple[str, list[str]]]:
    """Each command of a page's console blocks, a line ending in \\ continued, and its output."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text_of(name), flags=re.DOTALL):
        prompt = "$ " if block.startswith("$ ") else ""  # without outputs, commands stand alone
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith((f"{prompt}regard ", "$ ")):
                found.append((line.removeprefix("$ "), []))
            elif found:
                found[-1][1].append(line)
    return found


ALL = [(name, command, output) for name in NAMES for command, output in commands_in(name)]
REGARD = [
    (name, part)
    for name, command in [
        *((name, command) for name, command, _ in ALL),
        *((name, found) for name in NAMES for found in re.findall(r"`(.+?)`", text_of(name))),
    ]
    for part in command.split(" | ")
    if part.startswith("regard ")
]


@pytest.mark.parametrize(("name", "command"), REGARD)
def test_a_command_parses(name: str, command: str) -> None:
    _, word, *arguments = shlex.split(command.split(" > ")[0])
    found = group.get_command(click.Context(group), word)
    assert found is not None
    if arguments:  # a bare name in running text is no call
        found.make_context(word, arguments)


# Commands that need no trained model: run, and compared with what the page shows.
FREE = [
    (name, command, output)
    for name, command, output in ALL
    if re.match(r"regard (positions |walk --matrices |recipe|data$)|python -c ", command)
    and "runs/" not in command
    and output
    and not output[0].startswith("regard: ")  # an error about a file of the reader's
]


@pytest.mark.parametrize(("name", "command", "output"), FREE)
def test_an_output_is_what_the_command_prints(
    name: str, command: str, output: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.svg"))
    (tmp_path / "docs/images").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("REGARD_DATA", "")  # no data set is here
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    program, *arguments = shlex.split(command)
    if program == "regard":
        printed = CliRunner().invoke(group, arguments, catch_exceptions=False).output
    else:
        printed = subprocess.check_output([sys.executable, *arguments], text=True)
    assert_excerpt(output, printed.splitlines())
    for picture in tmp_path.rglob("*.svg"):  # and the page's picture is the one just drawn
        shown = REPOSITORY / picture.relative_to(tmp_path)
        assert picture.read_text() == shown.read_text(), f"draw {shown} again"


def test_the_sizes_of_the_phrasebook_are_those_it_prints() -> None:
    shown = {command: output for name, command, output in ALL if name == "phrasebook.md"}
    for command in ("regard phrasebook", "regard phrasebook --language hi"):
        printed = CliRunner().invoke(group, command.split()[1:], catch_exceptions=False).stdout
        assert_excerpt(shown[command], printed.splitlines())


def assert_excerpt(shown: list[str], printed: list[str]) -> None:
    """The lines between cuts stand in the output one after the other; uncut ends are its ends."""
    lines = "\n".join(line.rstrip() for line in shown).strip("\n").split("\n")
    rest = "\n".join(line.rstrip() for line in printed).strip("\n") + "\n"
    parts = "\n".join(lines).split(f"\n{CUT}\n") if CUT in lines else ["\n".join(lines)]
    first = True
    for part in parts:
        wanted = part.removeprefix(f"{CUT}\n").removesuffix(f"\n{CUT}") + "\n"
        before, found, rest = rest.partition(wanted)
        assert found, f"not in the output: {wanted}"
        assert not (first and before and lines[0] != CUT), f"before the first line: {before}"
        first = False
    assert not rest.strip() or lines[-1] == CUT, f"after the last line: {rest}"


def slug(title: str) -> str:
    """The anchor of a heading, as mkdocs makes it."""
    from markdown.extensions.toc import slugify

    return str(slugify(re.sub(r"[*`]|\[|\]\([^)]*\)", "", title), "-"))


@pytest.mark.parametrize("name", NAMES)
def test_links_and_pictures_exist(name: str) -> None:
    page = REPOSITORY / "docs" / name
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text_of(name), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose):
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, titles), target


def definitions(path: Path) -> set[tuple[str, int]]:
    """Every function, class and assigned name of a file, methods as Class.method, and its line."""
    found: set[tuple[str, int]] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found.add((prefix + child.name, child.lineno))
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                found.update((prefix + t.id, t.lineno) for t in targets if isinstance(t, ast.Name))

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_lines_define_what_they_are_said_to(name: str) -> None:
    for path, line, defined in re.findall(r"`(src/[\w/]+\.py):(\d+)`\s`([\w.]+)`", text_of(name)):
        where = dict(sorted(definitions(REPOSITORY / path), reverse=True))
        assert where.get(defined) == int(line), f"{path}: {defined} is in line {where.get(defined)}"


@pytest.mark.parametrize("name", NAMES)
def test_named_tests_exist(name: str) -> None:
    for path, test in re.findall(r"(tests/[\w/]+\.py)::(\w+)", text_of(name)):
        assert test in {defined for defined, _ in definitions(REPOSITORY / path)}, f"{path}::{test}"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_do(name: str) -> None:
    assert "TODO" not in text_of(name)


def test_the_notes_name_code_and_tests() -> None:
    notes = " ".join(text_of(name) for name in NAMES if name.startswith("notes/"))
    assert len(re.findall(r"`src/[\w/]+\.py:\d+`\s`", notes)) > 50
    assert len(re.findall(r"tests/[\w/]+\.py::", text_of("errata.md"))) > 25
    assert len(FREE) > 10


class Loaded(HTMLParser):
    """What a browser fetches by itself when it shows a page: not the links that are clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        named = given.get("src") if tag != "link" else given.get("href")
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev"):
            named = None
        self.addresses += [named] if named else []


@pytest.mark.end_to_end
def test_the_site_builds_without_warnings_and_loads_nothing_from_the_network(
    tmp_path: Path,
) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # mkdocs-material advertises there
    done = subprocess.run(build, cwd=REPOSITORY, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(NAMES)
    for page in pages:
        parser = Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.addresses
        assert not [x for x in parser.addresses if re.match(r"(https?:)?//", x)], page
    for style in tmp_path.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^)\"']+)", style.read_text())
        assert not loaded, style
