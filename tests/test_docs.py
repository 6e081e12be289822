"""The pages of docs/ do not rot: links, commands, outputs, code lines, names of tests are real."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from doc_outputs import Place, alike, excerpts, shows
from doc_pages import (
    DOCS,
    README,
    REPOSITORY,
    Command,
    Manifest,
    Need,
    Surroundings,
    commands_in,
    page_names,
    records_of,
    text_of,
)
from refresh_docs import PICTURES, Refresher, definitions, same_picture

from regard.checkpoint.published import FAMILIES
from regard.cli.main import group
from regard.processor.survives import ruled_out

NAMES = page_names()
PAGES = [README, *NAMES]
MANIFEST = Manifest()
SHORTER = [MANIFEST.needs[name] for name in ("shorter", "trackers")]
ALL = [(name, command) for name in PAGES for command in commands_in(text_of(name))]
REGARD = [
    (name, part)
    for name, command in [
        *((name, command.text) for name, command in ALL),
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


def test_the_manifest_names_every_page_and_picture() -> None:
    with_commands = sorted({name for name, _ in ALL})
    assert sorted(MANIFEST.pages) == with_commands, "docs/manifest.toml: [pages]"
    drawn = [path for path in (DOCS / "images").iterdir() if path.suffix in (".svg", ".png")]
    names = sorted(f"images/{path.name}" for path in drawn)
    assert sorted(MANIFEST.pictures) == names, "docs/manifest.toml: [pictures]"
    shown = "".join(text_of(name) for name in PAGES)
    assert not [x for x in names if not re.search(rf'{re.escape(x)}[")]', shown)], (
        "no page has them"
    )


def test_the_manifest_names_what_it_has_and_no_place_of_one_machine() -> None:
    rows = [*MANIFEST.pages.values(), *MANIFEST.pictures.values()]
    asked = {need for row in rows for need in (row["needs"], *row.get("but", {}).values())}
    assert asked == set(MANIFEST.needs), "docs/manifest.toml: [needs]"
    wanted = {x for need in MANIFEST.needs.values() for x in need.folders or () if "runs/" in x}
    assert wanted <= set(MANIFEST.runs), "docs/manifest.toml: [runs]"
    made = [command.text for _, command in ALL] + list(wanted)
    assert not [x for x, row in MANIFEST.runs.items() if x not in made and row.command not in made]
    for text in ((DOCS / "manifest.toml").read_text(encoding="utf-8"), *map(text_of, PAGES)):
        assert "../shared" not in text


@pytest.mark.parametrize("name", MANIFEST.pages)
def test_the_manifest_has_no_key_without_a_command(name: str) -> None:
    keys = MANIFEST.pages[name].get("but", {})
    commands = [command.name for command in commands_in(text_of(name))]
    assert not [key for key in keys if not any(c.startswith(key) for c in commands)]


def again(name: str) -> list[Command]:
    """The page's commands that are run again here, with the packages that are installed."""
    found = []
    for command in commands_in(text_of(name)) if name in MANIFEST.pages else ():
        need = MANIFEST.need_of(name, command.name)
        if need.tested and all(map(is_usable, need.modules)):
            found.append(command)
    return found


def is_usable(module: str) -> bool:
    """Whether a package is installed, and this processor survives what it computes."""
    if module == "ctranslate2" and (ruled_out("ctranslate2") or ruled_out("int8")):
        return False
    return find_spec(module) is not None


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", [name for name in NAMES if again(name)])
def test_an_output_is_what_the_command_prints(name: str, tmp_path: Path) -> None:
    """The commands of a page run one after the other in a folder, as its reader would run them."""
    place = Place(tmp_path, around=MANIFEST.around(name))
    printed: dict[str, tuple[int, list[str]]] = {}
    for command in again(name):
        if command.text not in printed:  # several excerpts of one output
            printed[command.text] = place.run(command)
        code, lines = printed[command.text]
        if command.shown:
            wrong = shows(list(command.shown), lines)
            assert not wrong, f"{command.name}\n{wrong}\n(make refresh-docs PAGES={name})"
        else:
            assert code == 0, f"{command.name}\n{lines}"


def shortened(name: str) -> list[Command]:
    """The page's commands that are run in a shorter form, with the packages that are installed."""
    row = MANIFEST.pages.get(name, {})
    found = []
    for command in commands_in(text_of(name)) if row else ():
        need = MANIFEST.need_of(name, command.name)
        if need in SHORTER and all(map(is_usable, need.modules)):
            text = command.text
            for long, short in row.get("shorter", {}).items():
                text = text.replace(long, short)
            found.append(replace(command, text=text))
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if shortened(name)])
def test_what_takes_minutes_runs_when_it_is_shortened(name: str, tmp_path: Path) -> None:
    place = Place(tmp_path, around=MANIFEST.around(name))
    for command in shortened(name):
        if "$MIRRORED" not in command.text or place.variables["MIRRORED"]:  # no set, no command
            code, lines = place.run(command, fresh=True)
            assert code == 0, f"{command.text}\n{lines}"


def test_what_is_shortened_shows_nothing_and_is_on_its_page() -> None:
    for name, command in ALL:
        assert MANIFEST.need_of(name, command.name) not in SHORTER or not command.shown
    for name, row in MANIFEST.pages.items():
        assert all(long in text_of(name) for long in row.get("shorter", ()))


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_again_is_recorded(name: str) -> None:
    recorded = records_of(name)
    for command in commands_in(text_of(name)):
        if not command.shown or MANIFEST.need_of(name, command.name).tested:
            continue
        rows = [row for row in recorded if row["command"] == command.text]
        assert rows, f"neither run again nor recorded: {command.name}"
        wrong = [shows(list(command.shown), row["output"]) for row in rows]
        assert "" in wrong, f"{command.name}: the page shows, the record has not: {wrong[0]}"


@pytest.mark.parametrize("name", PAGES)
def test_a_record_says_where_it_comes_from(name: str) -> None:
    texts = {command.text for command in commands_in(text_of(name))}
    for row in records_of(name):
        assert row["command"] in texts, "no command of the page: tools/refresh_docs.py --keep"
        assert re.fullmatch(r"[0-9a-f]{7,}", row["commit"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]) and row["processor"]


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", MANIFEST.pictures)
def test_a_picture_is_what_its_command_draws(name: str, tmp_path: Path) -> None:
    """Drawn again, or at least still the one whose hash was recorded."""
    row = MANIFEST.pictures[name]
    if MANIFEST.needs[row["needs"]].tested:
        place = Place(tmp_path, around=MANIFEST.around(name))
        (place.folder / "docs" / name).unlink()
        place.run(Command(row["command"], row["command"], (), 0, 0))
        drawn = place.folder / "docs" / name
        assert same_picture(drawn, DOCS / name), f"make refresh-docs PAGES={name}"
    else:
        record = json.loads(PICTURES.read_text(encoding="utf-8"))[name]
        assert record["command"] == row["command"]
        assert record["output"] == hashlib.sha256((DOCS / name).read_bytes()).hexdigest()


def test_lines_are_alike_but_for_rounding_and_for_what_a_machine_is() -> None:
    assert alike("▁you 0.2613 −0.10", "▁you 0.2612  −0.11")
    assert not alike("▁you 0.2613", "▁you 0.2618")
    assert not alike("▁you 0.2613", "▁he 0.2613")
    assert not alike("▁you 0.26", "▁you 0.261")
    assert not alike("layer 1, 28 pairs", "layer 1, 29 pairs")
    assert alike(
        '"workers": 2, "threads": 1, "batch": 64}', '"workers": 8, "threads": 2, "batch": 64}'
    )
    assert alike(
        "3,200 steps, 4:03 minutes, 11.8k tokens/s", "3,200 steps, 9:12 minutes, 7k tokens/s"
    )


def test_an_excerpt_is_found_in_its_output() -> None:
    printed = ["one", "two 0.10", "", "three", "four"]
    assert excerpts(["…", "two 0.10", "…"]) == [[], ["two 0.10"], []]
    assert not shows(["one", "two 0.10", "", "three", "four"], printed)
    assert not shows(["…", "two 0.11", "…", "four"], printed)
    assert shows(["two 0.10", "…"], printed).startswith("before the first line: one")
    assert shows(["one", "two 0.10"], printed).startswith("after the last line")
    assert shows(["…", "four", "…", "three", "…"], printed).startswith("not in the output: three")


def test_a_page_is_cut_into_commands() -> None:
    page = """```console
$ regard walk \\
    demo-de
a
$ regard runs
```
```python
print(1)
```
```text
1
```
```text
a formula
```"""
    found = [(command.name, command.text, command.shown) for command in commands_in(page)]
    assert found == [
        ("regard walk demo-de", "regard walk demo-de", ("a",)),
        ("regard runs", "regard runs", ()),
        ("python 1", "print(1)", ("1",)),
    ]
    install = commands_in("```console\npython3 -m venv .venv\n. .venv/bin/activate\n```")
    assert [command.text for command in install] == [
        "python3 -m venv .venv",
        ". .venv/bin/activate",
    ]
    with pytest.raises(ValueError, match="begins with its command: 'an output'"):
        commands_in("```console\nan output\n```")


def test_an_excerpt_of_a_training_keeps_to_its_lines() -> None:
    """The old excerpts are of another run: each is found by its first and its last line."""
    old = ["Data: 12 pairs", "Time: 3 minutes", "…", "step 400: loss 2.1", "…", "The end: 0.3", "…"]
    printed = ["Data: 14 pairs", "Disk: 9 MB", "Time: 4 minutes", "step 200: loss 3.0"]
    printed += ["step 400: loss 1.9", "step 600: loss 0.9", "The end: 0.2", "Loss curve: a.png"]
    refresher = Refresher(MANIFEST)
    assert refresher._excerpts(old, printed, Command("", "", (), 0, 0)) == [
        *printed[:3],
        "…",
        printed[4],
        "…",
        printed[6],
        "…",
    ]
    assert not refresher.problems


@pytest.mark.end_to_end
def test_a_place_has_what_a_reader_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", str(tmp_path))
    monkeypatch.setenv("REGARD_DATA", "/somewhere")
    (tmp_path / "texts.txt").write_text("linked\n")
    around = Surroundings(
        files={"own.txt": "written\n"},
        links={"other.txt": "$ELSEWHERE/texts.txt", "gone.txt": "$NOWHERE_AT_ALL"},
        environment={"REGARD_DATA": "", "REGARD_CACHE": "$HERE/cache"},
        before={"cat": ["echo made > third.txt"], "never": ["false"]},
    )
    place = Place(tmp_path, around=around)
    shown = Command("", "cat own.txt other.txt third.txt", (), 0, 0)
    assert place.run(shown) == (0, ["written", "linked", "made"])
    told = "python -c \"import os; print(os.environ.get('REGARD_DATA'), os.getcwd())\""
    assert place.run(Command("", told, (), 0, 0), fresh=True) == (0, ["None /home/ada"])
    assert place.has(Need("", folders=("$ELSEWHERE",)))
    assert not place.has(Need("", folders=("$NOWHERE_AT_ALL",)))
    assert not place.has(Need("", trains=True))
    with pytest.raises(RuntimeError, match="before 'never': 'false' ended with 1"):
        place.run(Command("", "never", (), 0, 0))


def slug(title: str) -> str:
    """The anchor of a heading, as mkdocs makes it."""
    from markdown.extensions.toc import slugify

    return str(slugify(re.sub(r"[*`]|\[|\]\([^)]*\)", "", title), "-"))


@pytest.mark.parametrize("name", NAMES)
def test_links_and_pictures_exist(name: str) -> None:
    page = DOCS / name
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text_of(name), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose):
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, titles), target


@pytest.mark.parametrize("name", NAMES)
def test_lines_define_what_they_are_said_to(name: str) -> None:
    for path, line, defined in re.findall(r"`(src/[\w/]+\.py):(\d+)`\s`([\w.]+)`", text_of(name)):
        found = definitions(REPOSITORY / path).get(defined)
        assert found == int(line), f"{path}: {defined} is in line {found}: make refresh-docs"


@pytest.mark.parametrize("name", NAMES)
def test_named_tests_exist(name: str) -> None:
    for path, test in re.findall(r"(tests/[\w/]+\.py)::(\w+)", text_of(name)):
        assert test in definitions(REPOSITORY / path), f"{path}::{test}"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_do(name: str) -> None:
    assert "TODO" not in text_of(name)


def test_every_family_is_on_the_pages_about_them() -> None:
    rows = re.findall(r"^\| (.+?) \|", text_of("families.md"), re.MULTILINE)
    listed = {re.sub(r"\W", "", part).lower() for row in rows for part in row.split(",")}
    for name in FAMILIES:
        assert any(part.startswith(name.replace("-", "")) for part in listed), name
        assert f"`{name}`" in text_of("doctor.md")


def test_the_notes_name_code_and_tests() -> None:
    notes = " ".join(text_of(name) for name in NAMES if name.startswith("notes/"))
    assert len(re.findall(r"`src/[\w/]+\.py:\d+`\s`", notes)) > 50
    assert len(re.findall(r"tests/[\w/]+\.py::", text_of("errata.md"))) > 25
    assert sum(len(again(name)) for name in NAMES) > 100


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
