"""What a look into a file found: its tensors, who wrote it, and what is wrong with it.

Readers of headers never raise for what a file holds: they add a finding and stop where they cannot
go on. Everything they take from a file is bounded by the limits below.
"""

from dataclasses import dataclass, field
from typing import Literal

MAX_HEADER = 16 * 1024 * 1024  # bytes of a header, a directory or a pickle that are looked at
MAX_TENSORS = 200_000
MAX_TEXT = 200  # characters of a name or value that are shown

# unsafe: it could run code or exhaust a machine · broken: not a whole file of its kind
# missing: a file or part that is needed · note: worth knowing
Level = Literal["unsafe", "broken", "missing", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing to know about a file."""

    level: Level
    text: str


@dataclass(frozen=True)
class Held:
    """A tensor as the header describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total


@dataclass
class Contents:
    """What a file holds."""

    kind: str
    tensors: list[Held] = field(default_factory=list)
    writer: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def find(self, level: Level, text: str) -> None:
        self.findings.append(Finding(level, text))

    def hold(self, name: str, dtype: str, shape: tuple[int, ...]) -> bool:
        """Add a tensor; False when there are too many."""
        if len(self.tensors) >= MAX_TENSORS:
            self.find("broken", f"more than {MAX_TENSORS:,} tensors; the rest is not looked at")
            return False
        self.tensors.append(Held(shown(name), shown(dtype), shape))
        return True


def shown(text: str) -> str:
    """A text from a file, fit for a terminal: no control characters, not too long."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:MAX_TEXT])
    return plain + "…" * (len(text) > MAX_TEXT)
