"""Code blocks of a page: commands with what they print, and Python with what it prints.

    ```console                          ```python
    $ regard translate …                print(model.translate("…"))  # → Wie …
    Wie geht es dir?                    # → and a line that follows
    ```                                 ```

A block whose first line does not begin with `$ ` shows commands alone, one in each line. A line
that ends in \\ goes on in the next; what follows two spaces and # is a remark. A line `…` of an
output stands for any number of lines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

CUT = "…"
ARROW = "# → "
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.S | re.M
)
_PROGRESS = re.compile(r"\d%  .*\d+/\d+ .*elapsed")  # a terminal wipes these lines out
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where it begins in its page."""

    kind: str
    body: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block and the lines that the page shows below it."""

    text: str
    output: tuple[str, ...]
    line: int


def blocks(page: str) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    for found in _FENCE.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        yield Block(found["kind"], found["body"], line)


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    prompt = "$ " if block.body.startswith("$ ") else ""
    texts: list[tuple[str, list[str], int]] = []
    lines = iter(enumerate(block.body.splitlines(), start=block.line + 1))
    for number, line in lines:
        if not line.startswith(prompt) or not line.strip():
            if prompt and texts:
                texts[-1][1].append(line)
            continue
        text = line.removeprefix(prompt)
        while text.endswith("\\"):
            text = text[:-1] + next(lines)[1].strip()
        texts.append((text.split("  #")[0].strip(), [], number))
    return [Command(text, tuple(output), number) for text, output, number in texts]


def printed_by_python(block: Block) -> list[str]:
    """The lines that a Python block says it prints."""
    return [line.partition(ARROW)[2] for line in block.body.splitlines() if ARROW in line]


def normal(line: str) -> str:
    """A line whose numbers and widths may be others: they depend on the machine and its speed."""
    return re.sub(r"\s+", " ", _NUMBER.sub("0", line)).strip()


def difference(shown: list[str] | tuple[str, ...], printed: str) -> str:
    """Where an output is not what is shown, in a sentence; empty if it is, or nothing is shown.

    Lines between cuts stand one after the other; uncut ends are the ends of the output.
    """
    wanted = _trimmed([line if line.strip() == CUT else normal(line) for line in shown])
    if not wanted:
        return ""
    kept = (line for line in printed.splitlines() if not _PROGRESS.search(line))
    lines = _trimmed([normal(line) for line in kept])
    parts = _split([line.strip() for line in wanted])
    place = 0
    for number, part in enumerate(parts):
        starts = range(place, len(lines) - len(part) + 1)
        if number == 0:
            starts = range(min(1, len(starts)))
        if number == len(parts) - 1:
            last = len(lines) - len(part)
            starts = range(last, last + 1) if last in starts else range(0)
        place = next((s + len(part) for s in starts if lines[s : s + len(part)] == part), -1)
        if place < 0:
            expected = "\n    ".join(part)
            return f"not where it is shown:\n    {expected}\nin the output:\n{printed}"
    return ""


def _split(lines: list[str]) -> list[list[str]]:
    """Parts between cuts; a cut at an end leaves an empty part there, which fits anywhere."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == CUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _trimmed(lines: list[str]) -> list[str]:
    """Without empty lines at the ends."""
    filled = [i for i, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []
