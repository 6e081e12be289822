"""What one measurement is asked for, and what it gives back; both travel as JSON."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

JobType = TypeVar("JobType")


@dataclass(frozen=True)
class Job:
    """One peer, one search, in one process."""

    peer: str
    options: dict[str, Any]
    run: Path
    ctranslate2: Path
    hf: Path
    source: Path
    sentences: int
    beam: int
    alpha: float
    max_length: int
    batch: int
    singles: int  # sentences whose latency is measured one by one


@dataclass(frozen=True)
class Result:
    """What was measured; `tokens` counts output tokens and end tokens."""

    layout: str = ""  # the settings of the machine, as given to the peer
    search: str = ""  # the settings of the search
    seconds: float = 0.0
    tokens: int = 0
    texts: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)  # milliseconds
    megabytes: float = 0.0
    failure: str = ""


def to_json(job: Any) -> dict[str, Any]:
    """A job's fields, paths as text."""
    return {k: str(v) if isinstance(v, Path) else v for k, v in asdict(job).items()}


def from_json(cls: type[JobType], values: dict[str, Any]) -> JobType:
    """The job that `to_json` wrote."""
    paths = {f.name for f in fields(cls) if f.type is Path}
    made: dict[str, Any] = {k: Path(v) if k in paths else v for k, v in values.items()}
    return cls(**made)


def spelled(settings: dict[str, Any]) -> str:
    """Settings as they were given."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


class Output(NamedTuple):
    """A translation and its number of tokens, without the end token."""

    text: str
    length: int
