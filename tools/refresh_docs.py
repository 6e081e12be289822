"""Bring docs/ up to date: run the commands of its pages, draw its pictures, correct its lines.

    make refresh-docs                          what needs no run: seconds or minutes a page
    make refresh-docs RUNS=runs                also what needs runs, where this folder has them
    make refresh-docs RUNS=runs TRAIN=yes      also trains those that it has not: an hour or two
    make refresh-docs PAGES="walk.md tag.md"   only these pages

docs/manifest.toml says what each command needs. An output that is still like the one shown stays
untouched, unless `--exact` asks for this machine's last digits. Where a page cuts an output ("…"),
each excerpt is found again by its first and last line, numbers aside, or else it gets as many
paragraphs as it had.
`--keep walk.md` records what a page shows as it is: for a command that was run by hand;
`--recorded` does the reverse, for a page whose cuts were changed.
"""

import argparse
import ast
import datetime
import difflib
import hashlib
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from doc_outputs import Place, alike, excerpts, shows
from doc_pages import (
    CUT,
    DOCS,
    README,
    REPOSITORY,
    Command,
    Manifest,
    commands_in,
    page_names,
    record_path,
    records_of,
    text_of,
)

from regard.engines.machine import SETS
from regard.processor.machine import cpu_flags, cpu_name

REFERENCE = re.compile(r"`(src/[\w/]+\.py):\d+`(\s)`([\w.]+)`")


class Refresher:
    """Rewrites pages, records and pictures; collects what needs a person to look at it."""

    def __init__(
        self,
        manifest: Manifest,
        runs: Path | None = None,
        exact: bool = False,
        trains: bool = False,
    ) -> None:
        self.manifest, self.runs, self.exact, self.trains = manifest, runs, exact, trains
        self.problems: list[str] = []

    def page(self, page: str) -> None:
        """Run a page's commands in order; replace outputs that changed, renew their records."""
        text = text_of(page)
        lines, records = text.split("\n"), records_of(page)
        new: dict[Command, list[str]] = {}
        outputs: dict[str, list[str]] = {}  # several excerpts of one output are run once
        with TemporaryDirectory() as folder:
            place = Place(Path(folder), self.runs, self.manifest.around(page), self.trains)
            for command in commands_in(text):
                need = self.manifest.need_of(page, command.name)
                trained = self.manifest.run_made_by(command.text)
                if trained:
                    row = self.trained(trained)
                elif place.has(need):
                    if command.text not in outputs:
                        outputs[command.text] = self._run(place, command, fresh=not need.tested)
                    row = record(command.text, outputs[command.text])
                else:
                    row = None
                if row is None or not command.shown:
                    continue
                printed = row["output"]
                if self.exact or shows(list(command.shown), printed):
                    new[command] = self._excerpts(list(command.shown), printed, command)
                if not need.tested:
                    records = [old for old in records if old["command"] != command.text]
                    records.append(row)
        for command in reversed(new):
            lines[command.first : command.last] = new[command]
        write_page(page, "\n".join(lines))
        write_records(page, records, self.manifest)

    def from_records(self, page: str) -> None:
        """Show what is recorded, where a page was given other cuts: nothing is run."""
        text = text_of(page)
        lines, rows = text.split("\n"), records_of(page)
        for command in reversed(commands_in(text)):
            for row in rows:
                printed = row["output"]
                if row["command"] == command.text and shows(list(command.shown), printed):
                    new = self._excerpts(list(command.shown), printed, command)
                    lines[command.first : command.last] = new
        write_page(page, "\n".join(lines))

    def trained(self, run: str) -> dict[str, Any] | None:
        """What the training of a run printed, with its commit; None if that was not kept."""
        kept = self.runs and self.runs / f"{Path(run).name}.json"
        return json.loads(kept.read_text(encoding="utf-8")) if kept and kept.exists() else None

    def train(self, run: str) -> None:
        """Make a run of the manifest, with its output beside it, unless it is there."""
        assert self.runs is not None
        kept = self.runs / Path(run).name
        if kept.exists():
            return
        row = self.manifest.runs[run]
        with TemporaryDirectory() as folder:
            place = Place(Path(folder), self.runs, row.around)
            printed = self._run(place, Command(row.command, row.command, (), 0, 0), fresh=True)
            if not (place.folder / run).exists():
                self.problems.append(f"made no {run}: {row.command}: {printed[-1:]}")
                return
            shutil.move(place.folder / run, kept)
        text = json.dumps(record(row.command, printed), ensure_ascii=False, indent=1)
        kept.with_name(kept.name + ".json").write_text(text + "\n", encoding="utf-8")

    def _run(self, place: Place, command: Command, fresh: bool) -> list[str]:
        print("  " + command.name, flush=True)
        code, printed = place.run(command, fresh)
        if code and not command.shown:
            self.problems.append(f"exit code {code}: {command.name}: {printed[-1]}")
        return printed

    def picture(self, name: str) -> None:
        """Draw a picture again; a picture that the tests do not draw is recorded by its hash."""
        row = self.manifest.pictures[name]
        need = self.manifest.needs[row["needs"]]
        with TemporaryDirectory() as folder:
            place = Place(Path(folder), self.runs, self.manifest.around(name))
            if not place.has(need):
                return
            command = Command(row["command"], row["command"], (), 0, 0)
            self._run(place, command, fresh=not need.tested)
            drawn, shown = place.folder / "docs" / name, DOCS / name
            if self.exact or not shown.exists() or not same_picture(drawn, shown):
                shown.write_bytes(drawn.read_bytes())
        if not need.tested:
            keep_picture(name, row["command"])

    def _excerpts(self, old: list[str], printed: list[str], command: Command) -> list[str]:
        if CUT not in old:
            return printed
        new: list[str] = []
        at = 0
        for number, excerpt in enumerate(excerpts(old)):
            new += [CUT] if number else []
            if excerpt:
                start = line_like(excerpt[0], printed, at)
                if start is None:
                    self.problems.append(f"no line like {excerpt[0]!r} any more: {command.name}")
                    new += excerpt
                    continue
                at = end_of(excerpt, printed, start)
                new += printed[start:at]
        return new

    def references(self, page: str) -> None:
        """Correct the `file:line` of each definition that a page names."""
        write_page(page, REFERENCE.sub(self._reference, text_of(page)))

    def _reference(self, match: re.Match[str]) -> str:
        path, between, name = match.groups()
        line = definitions(REPOSITORY / path).get(name)
        if line is None:
            self.problems.append(f"{path} does not define {name}")
            return match[0]
        return f"`{path}:{line}`{between}`{name}`"


def line_like(first: str, printed: list[str], begin: int = 0) -> int | None:
    """The line that an excerpt begins with: the same, else the same but for numbers, else alike.

    Of several that are the same but for numbers, one that begins alike: `step 400: …`.
    """
    after = range(begin, len(printed))
    wanted, (name, _, _) = without_numbers(first), first.partition(": ")
    plain = {i: without_numbers(printed[i]) for i in after}
    for same in (
        lambda i: printed[i] == first,
        lambda i: plain[i] == wanted and printed[i].startswith(name),
        lambda i: plain[i] == wanted,
    ):
        line = next(filter(same, after), None)
        if line is not None:
            return line
    near = difflib.get_close_matches(wanted, list(plain.values()), 1, 0.7)
    return next(i for i in after if plain[i] == near[0]) if near else None


def end_of(old: list[str], printed: list[str], start: int) -> int:
    """Where an excerpt ends that begins at `start`: after its old last line, numbers aside.

    Of several such lines the one nearest to its old place; without any, one that has the same name
    before its colon (`Training: …`); else it keeps its paragraphs.
    """
    last, (name, colon, _) = without_numbers(old[-1]), old[-1].partition(": ")
    after = range(start, len(printed))
    ends = [i for i in after if without_numbers(printed[i]) == last]
    ends = ends or [i for i in after if colon and printed[i].startswith(name + colon)]
    if ends:
        return min(ends, key=lambda i: abs(i - start - len(old) + 1)) + 1
    paragraphs = len(re.findall(r"\n\s*\n", "\n".join(old))) + 1
    rest = re.split(r"(\n(?:\s*\n)+)", "\n".join(printed[start:]))
    return start + "".join(rest[: 2 * paragraphs - 1]).count("\n") + 1


def without_numbers(line: str) -> str:
    return re.sub(r"\d[\d,.]*", "#", line).strip()


def write_page(page: str, text: str) -> None:
    if text != text_of(page):
        (DOCS / page).write_text(text, encoding="utf-8")


def record(command: str, output: list[str] | str) -> dict[str, Any]:
    """A row of docs/outputs: what came out, and on which commit, day and processor."""
    head = ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"]
    return {
        "command": command,
        "commit": subprocess.check_output(head, text=True).strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": f"{cpu_name()} ({', '.join(x for x in SETS if x in cpu_flags())})",
        "output": output,
    }


def write_records(page: str, rows: list[dict[str, Any]], manifest: Manifest) -> None:
    """In the order of the page, and only what it shows and no test runs again."""
    wanted = [
        command.text
        for command in commands_in(text_of(page))
        if command.shown and not manifest.need_of(page, command.name).tested
    ]
    kept = [row for row in rows if row["command"] in wanted]
    kept.sort(key=lambda row: wanted.index(row["command"]))
    path = record_path(page)
    if kept:
        path.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def keep(page: str, manifest: Manifest) -> None:
    """Record what a page shows now, where nothing runs it again and the record differs."""
    rows = records_of(page)
    for command in commands_in(text_of(page)):
        here = [row for row in rows if row["command"] == command.text]
        right = any(not shows(list(command.shown), row["output"]) for row in here)
        if command.shown and not manifest.need_of(page, command.name).tested and not right:
            rows.append(record(command.text, list(command.shown)))
    shown = [(c.text, list(c.shown)) for c in commands_in(text_of(page)) if c.shown]
    here = [
        row
        for row in rows
        if any(text == row["command"] and not shows(s, row["output"]) for text, s in shown)
    ]
    write_records(page, here, manifest)


PICTURES = DOCS / "outputs" / "pictures.json"


def keep_picture(name: str, command: str) -> None:
    """Record a picture's command and hash."""
    rows = json.loads(PICTURES.read_text(encoding="utf-8")) if PICTURES.exists() else {}
    digest = hashlib.sha256((DOCS / name).read_bytes()).hexdigest()
    if rows.get(name, {}).get("output") != digest or rows[name]["command"] != command:
        rows[name] = record(command, digest)
    text = json.dumps(dict(sorted(rows.items())), ensure_ascii=False, indent=1)
    PICTURES.write_text(text + "\n", encoding="utf-8")


def same_picture(one: Path, other: Path) -> bool:
    """An SVG is compared line by line, as an output is."""
    if one.suffix != ".svg":
        return one.read_bytes() == other.read_bytes()
    lines = [path.read_text(encoding="utf-8").split("\n") for path in (one, other)]
    return len(lines[0]) == len(lines[1]) and all(map(alike, *lines))


@cache
def definitions(path: Path) -> dict[str, int]:
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
    parser.add_argument("--runs", type=Path, help="a folder with runs, named as in the manifest")
    parser.add_argument("--train", action="store_true", help="make the runs that are not there")
    parser.add_argument("--exact", action="store_true", help="renew last digits and times too")
    parser.add_argument("--lines-only", action="store_true", help="correct file:line, run nothing")
    parser.add_argument("--keep", action="store_true", help="record what is shown, run nothing")
    parser.add_argument(
        "--recorded", action="store_true", help="show what is recorded, run nothing"
    )
    parser.add_argument("pages", nargs="*", help="walk.md, images/heads.svg; default: everything")
    options = parser.parse_args()
    manifest = Manifest()
    refresher = Refresher(manifest, options.runs, options.exact, options.train)
    names = options.pages or [README, *page_names(), *manifest.pictures]
    if options.train:
        if options.runs is None:
            parser.error("--train needs --runs: the folder that the runs go to")
        options.runs.mkdir(exist_ok=True)
        wanted = {
            run for name in names if name in manifest.pages for run in manifest.runs_for(name)
        }
        for run in manifest.runs:  # in the order of the manifest: some need others
            if run in wanted:
                print(run, flush=True)
                refresher.train(run)
    for name in names:
        print(name, flush=True)
        if name in manifest.pictures:
            if options.keep:
                keep_picture(name, manifest.pictures[name]["command"])
            elif not (options.lines_only or options.recorded):
                refresher.picture(name)
            continue
        if options.keep:
            keep(name, manifest)
        elif options.recorded:
            refresher.from_records(name)
        elif not options.lines_only:
            refresher.page(name)
        refresher.references(name)
    print("\n".join(refresher.problems) or "no problems")
    sys.exit(bool(refresher.problems))


if __name__ == "__main__":
    main()
