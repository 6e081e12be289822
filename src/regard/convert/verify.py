"""`regard verify`: does a model still answer as it did when golden.json was written?"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard import atomic
from regard.checkpoint.files import read_own_json
from regard.checksums import sealed
from regard.convert.golden import FORMAT, TOLERANCE, Golden, golden_of, versions
from regard.convert.source import open_source
from regard.errors import CheckpointError, MisuseError

GOLDEN = "golden.json"
NUMBERS = ("mean", "deviation")


@dataclass(frozen=True)
class GoldenVerdict:
    """What was compared, and the differences, the first first."""

    file: Path
    expected: Golden
    got: Golden
    differences: tuple[str, ...]
    written: bool = False
    chosen: str = "greedy tokens"  # what the likeliest answers of this model are


def verify(path: str | Path, golden: Path | None = None, write: bool = False) -> GoldenVerdict:
    """Recompute the golden outputs of a model and compare; or write them."""
    source = open_source(path)
    file = golden or source.golden
    got = golden_of(source.model)
    chosen = "greedy tokens" if source.model.spec.decoder_layers else "best answers"
    if write:
        if file.exists() and compare(read_golden(file), got):
            raise MisuseError(
                f"{file}: there already, and the model answers differently; look at it with "
                f"`regard verify {path}`, and delete the file to accept the new answers"
            )
        write_golden(file, got)
        return GoldenVerdict(file, got, got, (), True, chosen)
    if not file.is_file():
        raise MisuseError(
            f"{file}: no such file; write it with `regard verify {path} --update` while the model "
            "is known to be right"
        )
    expected = read_golden(file)
    return GoldenVerdict(file, expected, got, tuple(compare(expected, got)), False, chosen)


def write_golden(file: Path, golden: Golden) -> None:
    """golden.json with its checksum, readable: lists of numbers stay on one line."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sealed(golden).items()]
    atomic.write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")


def read_golden(file: Path) -> Golden:
    """A golden.json of this format, its parts of the right kinds."""
    golden = read_own_json(file)
    if golden.get("format") != FORMAT:
        problem = f"format {golden.get('format')}, this regard reads {FORMAT}"
        advice = "write it again with the version of regard that made it"
        raise CheckpointError(file, problem, advice=advice)
    for key in ("values", "greedy", "leads", "shape"):
        if not _numbers(golden.get(key)):
            raise CheckpointError(f"{file}: {key}", expected="a list of numbers")
    for key in (*NUMBERS, "largest"):
        if not _numbers([golden.get(key)]):
            raise CheckpointError(f"{file}: {key}", expected="a number")
    return golden


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in value
    )


def compare(expected: Golden, got: Golden) -> list[str]:
    """Every difference as a sentence; none: the model answers as it did."""
    differences = []
    if expected.get("weights") != got["weights"]:
        differences.append(
            f"weights: SHA-256 {str(expected.get('weights'))[:12]}… expected, "
            f"{got['weights'][:12]}… got: these are other weights"
        )
    for key in ("inputs", "shape"):
        if expected.get(key) != got[key]:
            differences.append(f"{key}: expected {expected.get(key)}, got {got[key]}")
            return differences
    most = TOLERANCE * max(1.0, expected["largest"])
    pairs = zip(expected["values"], got["values"], strict=False)
    for n, (old, new) in enumerate(pairs):
        if not abs(old - new) <= most:  # NaN fails too
            place = _place(n * got["every"], got["shape"])
            differences.append(
                f"output {place}: expected {old:.6f}, got {new:.6f} (tolerance {most:.1g})"
            )
            break
    for key in NUMBERS:
        if not abs(expected[key] - got[key]) <= most:
            differences.append(f"{key} of the outputs: expected {expected[key]}, got {got[key]}")
    return differences + _compare_tokens(expected, got, most)


def _compare_tokens(expected: Golden, got: Golden, most: float) -> list[str]:
    """Greedy tokens up to the first tie, after which two right models may part."""
    if len(expected["greedy"]) != len(got["greedy"]):
        lengths = f"{len(expected['greedy'])} tokens, got {len(got['greedy'])}"
        return [f"greedy output: expected {lengths}"]
    steps = zip(expected["greedy"], got["greedy"], expected["leads"], strict=False)
    for n, (old, new, lead) in enumerate(steps):
        if old != new:
            return [] if lead <= 2 * most else [f"greedy token {n}: expected {old}, got {new}"]
    return []


def _place(index: int, shape: list[int]) -> list[int]:
    """A position in the flat output as one index for each axis."""
    place = []
    for size in reversed(shape):
        place.append(index % size)
        index //= size
    return place[::-1]


def then_and_now(expected: Golden) -> str:
    """The versions that wrote the file and those that run now, as a sentence."""
    then = expected.get("versions")
    old = then if isinstance(then, dict) else {}
    now = versions()
    parts = [
        f"{name} {old.get(name, '?')}" + (f" → {new}" if old.get(name) != new else "")
        for name, new in now.items()
    ]
    return "then → now: " + ", ".join(parts)
