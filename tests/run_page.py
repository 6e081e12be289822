"""A page as a reader tries it: every block in order, in one folder, compared with what it shows.

What a test cannot run (a clone, the hub, an hour) stands on a list: command → why, and a short twin
that is run instead. Nothing else is left out, and nothing may stand on the list that the page has
not.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from console_blocks import Block, blocks, commands, difference, printed_by_python


@dataclass(frozen=True)
class Instead:
    """Why a command is not run, and what is."""

    reason: str
    twin: str


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    output: str


RunFolder = Callable[[str], Ran]


def problems_of(page: str, run: RunFolder, instead: Mapping[str, Instead]) -> list[str]:
    """What is not as the page says, each with its line; empty if all is."""
    problems: list[str] = []
    left = set(instead)
    for block in blocks(page):
        if block.kind == "python":
            problems += _python(block, run)
        for command in commands(block) if block.kind == "console" else ():
            other = instead.get(command.text)
            left.discard(command.text)
            ran = run(other.twin if other else command.text)
            where = f"line {command.line}: {other.twin if other else command.text}"
            if ran.code:
                problems.append(f"{where}: ended with {ran.code}\n{ran.output}")
            elif not other and (told := difference(command.output, ran.output)):
                problems.append(f"{where}: {told}")
    problems += [f"listed, but not on the page: {text}" for text in sorted(left)]
    return problems + [
        f"listed without a reason or a twin: {text}"
        for text, other in instead.items()
        if not (other.reason and other.twin)
    ]


def _python(block: Block, run: RunFolder) -> list[str]:
    ran = run(f"python -c {shlex.quote(block.body)}")
    where = f"line {block.line}: the Python block"
    if ran.code:
        return [f"{where}: ended with {ran.code}\n{ran.output}"]
    told = difference(printed_by_python(block), ran.output)
    return [f"{where}: {told}"] if told else []
