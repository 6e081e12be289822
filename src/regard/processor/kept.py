"""What was found out about the processor, kept in the user's cache folder for later commands.

    processor-1f0c….json     {"format": 1, "identity": {…}, "answers": {"bf16": {…}}, "speeds": {…},
                              "checksum": "…"}

The name follows from the identity of the machine (machine.py), so machines that share a home do not
read each other's. A file that cannot be understood is as good as none. All it can say is which row
of our own tables holds.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from regard import atomic
from regard.checksums import sealed, states_its_own
from regard.errors import CheckpointError
from regard.places import cache_folder
from regard.processor.caps import LADDER
from regard.untrusted import read_json

FORMAT = 1  # another one when the trials themselves change
MAX_BYTES = 64 * 1024


@dataclass(frozen=True)
class TrialAnswer:
    """Of one feature: the first cap that it survives (None: none), and what happened before that.

    `certain` is False where a trial ended as no processor ends one, for want of memory for example.
    """

    rung: int | None
    deaths: tuple[str, ...] = ()
    certain: bool = True


def place(identity: Mapping[str, str]) -> Path:
    """The file of a machine."""
    text = json.dumps(dict(identity), sort_keys=True)
    return cache_folder() / f"processor-{sha256(text.encode()).hexdigest()[:16]}.json"


def read_answers(identity: Mapping[str, str]) -> dict[str, TrialAnswer]:
    """Those that are kept for this machine."""
    answers: dict[str, TrialAnswer] = {}
    for feature, row in _table(identity, "answers").items():
        with suppress(KeyError, TypeError):
            rung, deaths = row["rung"], row["deaths"]
            is_rung = rung is None or (type(rung) is int and 0 <= rung < len(LADDER))
            if is_rung and all(isinstance(death, str) and death.isprintable() for death in deaths):
                answers[feature] = TrialAnswer(rung, tuple(deaths))
    return answers


def read_speeds(identity: Mapping[str, str]) -> dict[str, float]:
    """GFLOP/s of each precision, where `regard doctor` has measured them."""
    speeds = _table(identity, "speeds").items()
    return {name: float(speed) for name, speed in speeds if isinstance(speed, int | float)}


def keep(
    identity: Mapping[str, str],
    answers: Mapping[str, TrialAnswer],
    speeds: Mapping[str, float] | None = None,
) -> None:
    """Add to what is kept; where nothing can be written, the next command finds out again."""
    rows = {
        name: {"rung": answer.rung, "deaths": list(answer.deaths)}
        for name, answer in (read_answers(identity) | dict(answers)).items()
        if answer.certain
    }
    content = {
        "format": FORMAT,
        "identity": dict(identity),
        "answers": rows,
        "speeds": read_speeds(identity) | dict(speeds or {}),
    }
    with suppress(OSError):
        atomic.write_text(place(identity), json.dumps(sealed(content), indent=2) + "\n")


def _table(identity: Mapping[str, str], name: str) -> dict[str, Any]:
    path = place(identity)
    try:
        content = read_json(path, MAX_BYTES) if path.is_file() else {}
    except (CheckpointError, OSError):
        return {}
    fits = content.get("format") == FORMAT and content.get("identity") == dict(identity)
    fits = fits and states_its_own(content) is True
    table = content.get(name) if fits else None
    return table if isinstance(table, dict) else {}
