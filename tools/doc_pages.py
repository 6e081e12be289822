"""The pages of docs/ as commands with the outputs they show, and what the manifest says of them.

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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
CUT = "…"  # a line of its own: something was left out of an output here


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
    found: list[Command] = []
    snippets = 0
    for (language, first, last), following in pairwise(blocks):
        if language == "console":
            found += _console(lines, first, last)
        elif language == "python":
            snippets += 1
            output = following[1:] if following[0] == "text" else (last, last)
            code = "\n".join(lines[first:last])
            shown = tuple(lines[slice(*output)])
            found.append(Command(f"python {snippets}", code, shown, *output))
    return found


def _blocks(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """The language and the lines of each fenced block."""
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    for opening, closing in zip(fences[::2], fences[1::2], strict=True):
        yield lines[opening].removeprefix("```"), opening + 1, closing


def _console(lines: list[str], first: int, last: int) -> Iterator[Command]:
    prompt = "$ " if lines[first].startswith("$ ") else ""
    number = first
    while number < last:
        if not lines[number].startswith(prompt or "regard "):
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


class Manifest:
    """docs/manifest.toml: what each page's commands need, and which command draws each picture."""

    def __init__(self, path: Path = DOCS / "manifest.toml") -> None:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        self.needs = {
            name: Need(**{key: tuple(v) if isinstance(v, list) else v for key, v in row.items()})
            for name, row in read["needs"].items()
        }
        self.pages: dict[str, dict[str, Any]] = read["pages"]
        self.pictures: dict[str, dict[str, str]] = read["pictures"]

    def need_of(self, page: str, command: str) -> Need:
        """The need that the longest of the page's keys gives which the command begins with."""
        row = self.pages[page]
        keys = [key for key in row.get("but", {}) if command.startswith(key)]
        return self.needs[row["but"][max(keys, key=len)] if keys else row["needs"]]

    def files_of(self, page: str) -> dict[str, str]:
        """Small files that the page's reader would have: name → content."""
        return dict(self.pages[page].get("files", {}))


def page_names() -> list[str]:
    return sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def record_path(page: str) -> Path:
    """docs/outputs/notes-index.json for notes/index.md."""
    return DOCS / "outputs" / (page.removesuffix(".md").replace("/", "-") + ".json")


def records_of(page: str) -> list[dict[str, Any]]:
    """What the page's commands printed when they were last run, and where that was."""
    path = record_path(page)
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []
