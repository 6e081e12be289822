"""Bring the pages of docs/ up to date: run their commands again, correct their `file:line`s.

    make refresh-docs RUN=runs/demo-… HINDI=runs/demo-hi-…

A block of a page is a command (`$ regard …`; a `\\` at the end continues it) and its output; in it
`runs/demo` and `runs/demo-hi` stand for the two runs. A line "…" cuts: each excerpt between cuts is
found again in the new output by its first line (digits aside) and gets as many paragraphs as it
had. Blocks with `train` and `evaluate`, which take minutes, with `data`, which shows what this
machine has, and blocks whose run is not given, stay as they are.
"""

import argparse
import ast
import difflib
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parent.parent
CUT = "…"
SLOW = re.compile(r"regard (train|evaluate|data)\b")
BLOCK = re.compile(r"```console\n(.*?)```", flags=re.DOTALL)
REFERENCE = re.compile(r"`(src/[\w/]+\.py):\d+`(\s)`([\w.]+)`")


class Refresher:
    """Rewrites pages; `place` is a folder where the commands run, with docs/ and runs/ in it."""

    def __init__(self, place: Path, lines_only: bool) -> None:
        self.place, self.lines_only = place, lines_only
        self.problems: list[str] = []
        self._known: dict[str, list[str]] = {}

    def page(self, text: str) -> str:
        if not self.lines_only:
            text = BLOCK.sub(self._block, text)
        return REFERENCE.sub(self._reference, text)

    def _block(self, match: re.Match[str]) -> str:
        lines = match[1].rstrip("\n").split("\n")
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        command = " ".join(line.rstrip("\\").strip() for line in lines[:count])
        named = re.findall(r"runs/[\w-]+", command)
        if (
            not re.match(r"\$ (regard|python) ", command)
            or SLOW.search(command)
            or not all((self.place / name).exists() for name in named)
        ):
            return match[0]
        print("  " + command, flush=True)
        output = self._run(command.removeprefix("$ "))
        new = self._excerpts(lines[count:], output, command)
        return "```console\n" + "\n".join([*lines[:count], *new]) + "\n```"

    def _run(self, command: str) -> list[str]:
        if command not in self._known:
            program, *words = shlex.split(command)
            done = subprocess.run(
                [str(Path(sys.executable).parent / program), *words],
                cwd=self.place,
                env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            if done.returncode not in (0, 2):
                self.problems.append(f"exit code {done.returncode}: {command}")
            lines = done.stdout.rstrip("\n").split("\n")
            self._known[command] = [line.rstrip() for line in lines]
        return self._known[command]

    def _excerpts(self, old: list[str], output: list[str], command: str) -> list[str]:
        if CUT not in old:
            return output
        new: list[str] = []
        excerpt: list[str] = []
        for line in [*old, CUT]:
            if line != CUT:
                excerpt.append(line)
                continue
            new += self._excerpt("\n".join(excerpt).strip("\n").split("\n"), output, command)
            new.append(CUT)
            excerpt = []
        return new[:-1]  # the cut that only ended the last excerpt

    def _excerpt(self, old: list[str], output: list[str], command: str) -> list[str]:
        if old == [""]:
            return []
        start = _find(output, old[0])
        if start is None:
            self.problems.append(f"no line like {old[0]!r} any more: {command}")
            return old
        paragraphs = len(re.findall(r"\n\s*\n", "\n".join(old))) + 1
        rest = re.split(r"(\n(?:\s*\n)+)", "\n".join(output[start:]))
        return "".join(rest[: 2 * paragraphs - 1]).split("\n")

    def _reference(self, match: re.Match[str]) -> str:
        path, between, name = match.groups()
        line = _definitions(REPOSITORY / path).get(name)
        if line is None:
            self.problems.append(f"{path} does not define {name}")
            return match[0]
        return f"`{path}:{line}`{between}`{name}`"


def _find(output: list[str], first: str) -> int | None:
    """The line that an excerpt begins with: the same, else the same but for digits, else alike."""
    plain = [re.sub(r"\d+", "#", line).strip() for line in output]
    wanted = re.sub(r"\d+", "#", first).strip()
    if first in output:
        return output.index(first)
    if wanted in plain:
        return plain.index(wanted)
    near = difflib.get_close_matches(wanted, plain, 1, 0.7)
    return plain.index(near[0]) if near else None


@cache
def _definitions(path: Path) -> dict[str, int]:
    """Name → line of everything that a file defines; methods as Class.method."""
    names: dict[str, int] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names.setdefault(prefix + child.name, child.lineno)
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        names.setdefault(prefix + target.id, child.lineno)

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", help="the folder that runs/demo stands for")
    parser.add_argument("--hindi", help="the folder that runs/demo-hi stands for")
    parser.add_argument("--lines-only", action="store_true", help="correct file:line, run nothing")
    parser.add_argument("pages", nargs="*", type=Path, help="default: all pages of docs/")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "docs").symlink_to(REPOSITORY / "docs")
        (place / "runs").mkdir()
        for name, run in {"demo": asked.run, "demo-hi": asked.hindi}.items():
            if run:
                (place / "runs" / name).symlink_to(Path(run).resolve(strict=True))
        refresher = Refresher(place, asked.lines_only)
        for path in asked.pages or sorted((REPOSITORY / "docs").rglob("*.md")):
            print(path)
            old = path.read_text(encoding="utf-8")
            new = refresher.page(old)
            if new != old:
                path.write_text(new, encoding="utf-8")
    print("\n".join(refresher.problems) or "no problems")
    sys.exit(bool(refresher.problems))


if __name__ == "__main__":
    main()
