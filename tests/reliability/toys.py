"""Short trainings of the toy language for the tests of this folder, and how they are compared."""

import json
from pathlib import Path

import toy

STEPS, EVERY = 60, 7
SHORT = (
    *toy.SMALL,
    f"train.steps={STEPS}",
    f"train.validate_every={EVERY}",
    "train.average=3",
    "train.bleu_sentences=0",
    "train.precision=fp32",  # which is faster is a question of what else the machine does
)


def new(place: Path, *changes: str) -> list[str]:
    """The arguments of a new run in place/run."""
    source, target = toy.write(place, 400)
    files = ["--source", str(source), "--target", str(target), "--run", str(place / "run")]
    return [*files, *SHORT, *changes]


def again(place: Path) -> list[str]:
    return ["--resume", str(place / "run")]


def digest(place: Path, steps: int = STEPS) -> dict[str, str]:
    return toy.digest(place / "run", steps)


def examples(file: Path) -> dict[int, list[tuple[int, ...]]]:
    """Step → the examples it was computed from, once for each time it was computed."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for line in file.read_text().splitlines():
        record = json.loads(line)
        found.setdefault(record["step"], []).append(tuple(record["examples"]))
    return found
