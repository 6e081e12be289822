"""What one measurement of embedding is asked for, and what it gives back; both travel as JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """One peer with its options, in one process."""

    peer: str
    options: dict[str, Any]
    model: Path
    sentences: Path  # a JSON list
    vectors: Path  # where to write them, .npy


@dataclass(frozen=True)
class Result:
    """What was measured."""

    layout: str = ""  # the settings, as given to the peer
    seconds: float = 0.0
    sentences: int = 0
    megabytes: float = 0.0
    failure: str = ""
