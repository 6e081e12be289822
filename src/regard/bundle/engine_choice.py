"""Which engine translates, in which precision and layout: chosen once, kept beside the model.

    engines/choice.json           this choice, what it rests on, and what was measured
    engines/ctranslate2-int8/     the weights as that engine wants them; -fp32 likewise
    engines/.lock                 held while they are made

A choice holds while the weights and the versions are the same; on another machine only the layout
is measured again. Nothing here imports torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from regard import checksums, lock
from regard.checksums import states_its_own, unsealed
from regard.decode.engine import Layout
from regard.errors import CheckpointError
from regard.processor.machine import Machine, cores
from regard.runs.folder import RunFolder, read_texts, write_own_json
from regard.untrusted import read_json
from regard.version import __version__

ENGINES, CHOICE = "engines", "choice.json"
FORMAT = 1
MAX_BYTES = 1024 * 1024
ProbePair = tuple[str, str | None]  # a source with its reference, where there is one
PROBES = 500  # fewer, and BLEU moves by more than 0.2 with every second sentence
# For models without validation pairs of their own.
SENTENCES = (
    "How are you?",
    "I would like a cup of coffee, please.",
    "The animal didn't cross the street because it was too tired.",
    "She has lived in this town for more than twenty years.",
    "They went to the bank to exchange money.",
    "What time does the next train leave?",
    "The committee will meet again on Monday to discuss the new proposal.",
    "We are friends.",
    "If it rains tomorrow, we will stay at home and read.",
    "Two young men are playing football in front of a large white house.",
    "No.",
    "The price of bread has risen by 3.5 percent since last year.",
)


@dataclass(frozen=True)
class Choice:
    """What was chosen, and for which weights, versions and machine."""

    engine: str
    precision: str
    reason: str
    layouts: Mapping[str, Layout]  # by engine and precision, "ctranslate2 int8" for example
    weights: str  # SHA-256
    versions: Mapping[str, str]
    machine: Machine
    limit: int | None = None  # tokens of a sentence
    vocabulary: int = 0
    task: str = "translate"  # or "complete"
    stamps: Sequence[Sequence[Any]] = ()  # name, size and time of the files of weights
    checks: Mapping[str, Any] = field(default_factory=dict)
    speeds: Mapping[str, float] = field(default_factory=dict)  # target tokens a second

    def layout(self, engine: str, precision: str) -> Layout:
        """The layout that was measured, or else the best guess."""
        measured = self.layouts.get(f"{engine} {precision}")
        return measured or default_layout(precision)


def default_layout(precision: str = "fp32") -> Layout:
    """Before anything is measured: a worker for each core."""
    return Layout(precision, workers=cores(), threads=1)


def versions() -> dict[str, str]:
    """Of what translates; a library that is not there has none."""
    try:
        library = version("ctranslate2")
    except PackageNotFoundError:
        library = ""
    return {"regard": __version__, "ctranslate2": library}


def stamps(weights: Sequence[Path]) -> list[list[Any]]:
    """Name, size and time of each file: while they are the same, so is the checksum."""
    return [[p.name, p.stat().st_size, p.stat().st_mtime_ns] for p in weights]


def digest(weights: Sequence[Path]) -> str:
    """The SHA-256 of the file of weights; of several, that of their checksums."""
    sums = [checksums.sha256(path) for path in weights]
    return sums[0] if len(sums) == 1 else sha256(" ".join(sums).encode()).hexdigest()


def write_choice(folder: Path, choice: Choice) -> None:
    """Keep it in the folder of the model."""
    place = folder / ENGINES / CHOICE
    if place.is_symlink() or (place.exists() and not place.is_file()):
        place.unlink()  # or a link would have another file written, and a pipe would wait
    write_own_json(place, {"format": FORMAT, **asdict(choice)})


def read_choice(folder: Path, weights: Sequence[Path]) -> Choice | None:
    """The choice that holds for these weights and versions; None if there is none.

    A file that cannot be understood or differs from its checksum is as good as none: it is written
    again.
    """
    path = folder / ENGINES / CHOICE
    if not path.is_file():
        return None
    try:
        values = read_json(path, MAX_BYTES)
        choice = _choice(unsealed(values, path)) if states_its_own(values) else None
    except (CheckpointError, AttributeError, KeyError, TypeError, ValueError):
        return None
    if choice is None or choice.versions != versions():
        return None
    now = stamps(weights)
    if now == choice.stamps:
        return choice
    if digest(weights) != choice.weights:
        return None
    choice = replace(choice, stamps=now)  # a copy of the folder has other times
    with suppress(OSError):  # so that the next command need not read all the weights
        write_choice(folder, choice)
    return choice


def _choice(values: dict[str, Any]) -> Choice | None:
    if values.pop("format", None) != FORMAT:
        return None
    layouts = {str(name): Layout(**fields) for name, fields in values.pop("layouts").items()}
    for layout in layouts.values():
        numbers = (layout.workers, layout.threads, layout.batch)
        if not all(isinstance(n, int) and 0 < n < 65_536 for n in numbers):
            return None
    machine = Machine(**values.pop("machine"))
    choice = Choice(layouts=layouts, machine=machine, **values)
    exists = choice.engine in ("torch", "ctranslate2") and choice.precision in ("fp32", "int8")
    exists = exists and choice.task in ("translate", "complete")
    return choice if exists and _fits(choice) else None


def _fits(choice: Choice) -> bool:
    """Whether all that is used later has its type: a file may say anything."""
    return (
        all(isinstance(text, str) for text in (choice.reason, choice.weights, choice.machine.cpu))
        and type(choice.machine.cores) is int
        and (choice.limit is None or (type(choice.limit) is int and choice.limit > 0))
        and type(choice.vocabulary) is int
        and all(isinstance(table, dict) for table in (choice.versions, choice.speeds))
        and isinstance(choice.stamps, list)
        and isinstance(choice.checks, dict)
        and all(isinstance(check, dict) for check in choice.checks.values())
        and all(layout.precision in ("fp32", "int8") for layout in choice.layouts.values())
    )


def probe_of(run: RunFolder | None) -> list[ProbePair]:
    """Sentences that engines are compared on: evenly from all over the held-out pairs, whose
    beginning may be all of one kind."""
    file = None if run is None else run.whole("valid.jsonl")
    rows = read_texts(file, source=str, target=str) if file and file.exists() else []
    if not rows:
        return [(text, None) for text in SENTENCES]
    step = max(1, len(rows) // PROBES)
    return [(row["source"], row["target"]) for row in rows[::step][:PROBES]]


@contextmanager
def engines_locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder's engines; a second process waits until the first is done."""
    place = folder / ENGINES
    if place.is_symlink():
        raise CheckpointError(place, "a link", expected="a folder of this model's own")
    place.mkdir(exist_ok=True)
    with lock.held(place / ".lock", wait=True):
        yield
