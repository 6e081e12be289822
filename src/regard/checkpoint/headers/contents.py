"""What a reader finds in a file: its tensors, who wrote it, and what is wrong with it.

There is one reader for each format, and it serves two. `regard doctor` lists all findings: nothing
that a file holds is an error there, the reader adds a finding and ends where it cannot go on. A
loader reads `strictly`: the first finding that matters to it is a CheckpointError.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regard.errors import CheckpointError, shown

MAX_TENSORS = 200_000
MAX_FINDINGS = 50
MAX_NAME = 512
MAX_AXES = 8
MAX_TEXT = 200  # characters of a value that are told

# unsafe: it could run code or exhaust a machine · broken: not a whole file of its kind
# missing: a file or part that is needed · note: worth knowing
Level = Literal["unsafe", "broken", "missing", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing to know about a file."""

    level: Level
    text: str


@dataclass(frozen=True)
class Stored:
    """A tensor as the header describes it; the dtype as safetensors writes it, F32 for example."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


Header = dict[str, Stored]


@dataclass
class Contents:
    """What a file holds."""

    kind: str
    path: Path
    strict: bool = False
    tensors: list[Stored] = field(default_factory=list)
    writer: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def find(self, level: Level, text: str, stops: bool | None = None) -> None:
        """Add a finding; `stops` a loader, as what is unsafe or broken does unless it is said."""
        if self.strict and (level in ("unsafe", "broken") if stops is None else stops):
            raise CheckpointError(self.path, text)
        finding = Finding(level, text)
        if finding not in self.findings and len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def hold(self, name: str, dtype: str, shape: tuple[int, ...]) -> bool:
        """Add a tensor; False when there are too many."""
        if len(self.tensors) >= MAX_TENSORS:
            self.find("broken", f"more than {MAX_TENSORS:,} tensors; the rest is not looked at")
            return False
        if not 0 < len(name) <= MAX_NAME:
            letters = f"a name of {len(name)} letters, expected 1 to {MAX_NAME}"
            self.find("broken", f"tensor {shown(name)}: {letters}")
        self.tensors.append(Stored(name[:MAX_NAME], dtype, shape))
        return True


def strictly(look: Callable[[Path, bool], Contents], path: Path) -> Contents:
    """What a loader reads: nothing of it matters, or there is an error that names the file."""
    try:
        return look(path, True)
    except OSError as error:
        raise CheckpointError(path, f"cannot be read: {error.strerror or error}") from None


def header(look: Callable[[Path, bool], Contents], path: Path) -> Header:
    """The tensors of a file that a loader reads, by name."""
    return {stored.name: stored for stored in strictly(look, path).tensors}


def told(text: str) -> str:
    """A text from a file, fit for a terminal: no control characters, not too long."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:MAX_TEXT])
    return plain + "…" * (len(text) > MAX_TEXT)
