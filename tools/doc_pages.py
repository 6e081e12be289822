"""The pages of docs/, and README, as commands with the outputs they show; what the manifest says.

A page comes in as text; out of it come its commands, each with the lines that the page shows of
its output. A command is one of a ```console block (`$ regard …`; a `\\` at the end continues it) or
a whole ```python block, whose output is the ```text block after it. A line "…" cuts an output.

docs/manifest.toml says what each command needs. What one printed that cannot be run again at any
time is kept in docs/outputs, with commit, date and processor. tests/test_docs.py asks of
each command: is this still its output (doc_outputs.py), or is it the recorded one? refresh_docs.py
writes the new one.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
README = "../README.md"  # as seen from docs/, like every other page
CUT = "…"  # a line of its own: something was left out of an output here
PROGRAMS = ("regard ", "python", ".")  # what a line of a block without prompts may begin with


@dataclass(frozen=True)
class Command:
    """A command of a page and the lines first … last − 1 of the page that show its output."""

    name: str  # as the manifest calls it: the command itself, or "python 2" for a page's second
    text: str  # what is run
    shown: tuple[str, ...]
    first: int
    last: int


def commands_in(text: str) -> list[Command]:
    """Every command of a page, in order; a console block without a command is an error."""
    lines = text.split("\n")
    blocks = [*_blocks(lines), ("", 0, 0)]
    commands: list[Command] = []
    snippets = 0
    for (language, first, last), following in pairwise(blocks):
        if language == "console":
            commands += _console(lines, first, last)
        elif language == "python":
            snippets += 1
            output = following[1:] if following[0] == "text" else (last, last)
            code = "\n".join(lines[first:last])
            shown = tuple(lines[slice(*output)])
            commands.append(Command(f"python {snippets}", code, shown, *output))
    return commands


def _blocks(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """The language and the lines of each fenced block."""
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    for opening, closing in zip(fences[::2], fences[1::2], strict=True):
        yield lines[opening].removeprefix("```"), opening + 1, closing


def _console(lines: list[str], first: int, last: int) -> Iterator[Command]:
    prompt = "$ " if lines[first].startswith("$ ") else ""
    number = first
    while number < last:
        if not lines[number].startswith(prompt or PROGRAMS):
            raise ValueError(f"a console block begins with its command: {lines[number]!r}")
        words = [lines[number].removeprefix(prompt)]
        while words[-1].endswith("\\"):
            number += 1
            words.append(lines[number].strip())
        command = " ".join(word.removesuffix("\\").strip() for word in words)
        number = begin = number + 1
        while prompt and number < last and not lines[number].startswith("$ "):
            number += 1
        yield Command(command, command, tuple(lines[begin:number]), begin, number)


@dataclass(frozen=True)
class Need:
    """A row of [needs]: what a command needs besides this repository, and how to come by it."""

    how: str
    tested: bool = False  # can be had on every machine in a moment, so the tests run it again
    modules: tuple[str, ...] = ()  # packages without which a test leaves it out
    folders: tuple[str, ...] | None = None  # refreshed where these are; None: made by hand
    trains: bool = False  # refreshed where there is time for it


@dataclass(frozen=True)
class Surroundings:
    """What a reader of a page would have around it: a row of [pages] or [runs], in part."""

    files: Mapping[str, str] = field(default_factory=dict)  # name → content
    links: Mapping[str, str] = field(default_factory=dict)  # name → what it leads to
    environment: Mapping[str, str] = field(default_factory=dict)  # variables; "": not set
    before: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # command → commands not shown
    alone: bool = False  # without the runs that others made

    def before_of(self, command: str) -> Sequence[str]:
        """What has to be done before a command; its key is how the command begins."""
        return [
            step for key, steps in self.before.items() if command.startswith(key) for step in steps
        ]


@dataclass(frozen=True)
class Training:
    """A row of [runs]: minutes of training whose run pages use, and whose output one may show."""

    command: str
    around: Surroundings


class Manifest:
    """docs/manifest.toml: what each page's commands need, and which command draws each picture."""

    def __init__(self, path: Path = DOCS / "manifest.toml") -> None:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        self.needs = {
            name: Need(**{key: tuple(v) if isinstance(v, list) else v for key, v in row.items()})
            for name, row in read["needs"].items()
        }
        self.pages: dict[str, dict[str, Any]] = read["pages"]
        self.pictures: dict[str, dict[str, Any]] = read["pictures"]
        self.runs = {
            folder: Training(row["command"], _surroundings(row))
            for folder, row in read["runs"].items()
        }

    def need_of(self, page: str, command: str) -> Need:
        """The need that the longest of the page's keys gives which the command begins with."""
        row = self.pages[page]
        keys = [key for key in row.get("but", {}) if command.startswith(key)]
        return self.needs[row["but"][max(keys, key=len)] if keys else row["needs"]]

    def around(self, name: str) -> Surroundings:
        """The files and settings that the reader of a page, or who draws a picture, would have."""
        return _surroundings(self.pages.get(name) or self.pictures[name])

    def run_made_by(self, command: str) -> str | None:
        """The run that exactly this command of a page makes."""
        return next((run for run, row in self.runs.items() if row.command == command), None)

    def runs_for(self, page: str) -> list[str]:
        """The runs that the page's commands need or make, in the order of the manifest."""
        commands = commands_in(text_of(page))
        needed = {x for c in commands for x in self.need_of(page, c.name).folders or ()}
        return [
            run
            for run, row in self.runs.items()
            if run in needed or any(row.command == command.text for command in commands)
        ]


def _surroundings(row: Mapping[str, Any]) -> Surroundings:
    names = {part.name for part in fields(Surroundings)}
    return Surroundings(**{key: value for key, value in row.items() if key in names})


def page_names() -> list[str]:
    return sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def record_path(page: str) -> Path:
    """docs/outputs/notes-index.json for notes/index.md."""
    name = page.removeprefix("../").removesuffix(".md").replace("/", "-")
    return DOCS / "outputs" / f"{name}.json"


def records_of(page: str) -> list[dict[str, Any]]:
    """What the page's commands printed when they were last run, and where that was."""
    path = record_path(page)
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []
