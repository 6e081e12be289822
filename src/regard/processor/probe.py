"""Trying what this processor may not survive, in a child process that may die of it.

A child tries the features of one library one after the other (child.py). It rules one out by dying
of SIGILL, SIGSEGV or SIGBUS, by not ending in time, or by wrong numbers; then the next cap of the
ladder (caps.py) is tried for it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import MisuseError
from regard.processor import simulate
from regard.processor.caps import LADDER, environment_with, rungs
from regard.processor.kept import TrialAnswer

SECONDS = "REGARD_TRIAL_SECONDS"  # the time limit of a trial; 60 unless this says otherwise
STARTING = 300  # seconds that a child may take besides, until its libraries are there
CODE = "from regard.processor.child import main; main()"
# By these a processor ends what it cannot carry out; any other end says nothing about it.
_WORDS = {
    "SIGILL": "an illegal instruction",
    "SIGSEGV": "an access outside its memory",
    "SIGBUS": "a bus error",
    "SIGFPE": "an arithmetic error",
    "SIGABRT": "the library gave up",
    "SIGTRAP": "a trap",
}
_WINDOWS = {0xC000001D: "SIGILL", 0xC0000005: "SIGSEGV"}


@dataclass(frozen=True)
class Feature:
    """A way to compute, tried as a whole."""

    library: str  # whose kernels they are; features of one are tried by one child
    tolerance: float  # the error that the precision itself may cause
    highest: int  # of the caps to try: only what all else rests on may slow down the rest


FEATURES = {
    "fp32": Feature("torch", 1e-4, len(LADDER) - 1),
    "bf16": Feature("torch", 0.05, 2),
    "ctranslate2": Feature("ctranslate2", 1e-3, len(LADDER) - 1),  # in fp32
    "int8": Feature("ctranslate2", 0.7, 2),
    "int16": Feature("llvmlite", 1e-2, 0),  # our own loops: no library to tell anything
}


@dataclass(frozen=True)
class _Death:
    words: str
    certain: bool = True


def try_library(features: Sequence[str]) -> dict[str, TrialAnswer]:
    """What becomes of these features, all of one library: the first cap that each survives."""
    left = {feature: TrialAnswer(None) for feature in features}
    answers: dict[str, TrialAnswer] = {}
    for rung in rungs(max(FEATURES[f].highest for f in features), "amx" in simulate.simulated()):
        waiting = [f for f in left if rung <= FEATURES[f].highest]
        while waiting:
            survived, death = _child(waiting, rung)
            for feature in survived:
                answers[feature] = TrialAnswer(rung, left.pop(feature).deaths)
            waiting = waiting[len(survived) :]
            if death is not None and waiting:  # not one that came after all the answers
                feature, before = waiting[0], left[waiting[0]]
                said = (*before.deaths, _under(rung) + death.words)
                left[feature] = TrialAnswer(None, said, before.certain and death.certain)
                waiting = waiting[1:]
    return answers | left


def _under(rung: int) -> str:
    cap = ", ".join(f"{name}={value}" for name, value in LADDER[rung].items())
    return f"with {cap} " if cap else ""


def _child(features: Sequence[str], rung: int) -> tuple[list[str], _Death | None]:
    """Those of the features that were computed well, up to the first one that was not; its end."""
    environment = environment_with(rung) | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        simulate.IN_TRIAL: "1",
    }
    seconds = _seconds()
    command = [sys.executable, "-c", CODE, str(seconds), *features]
    limit = STARTING + seconds * len(features)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=limit)
        output, death = done.stdout, _death(done.returncode, done.stderr)
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        death = _Death(f"it did not end within {limit:g} seconds", certain=False)
    except OSError as error:
        return [], _Death(f"no process could be started ({error.strerror})", certain=False)
    survived: list[str] = []
    for line in output.decode(errors="replace").splitlines():
        name, _, number = line.partition(" ")
        error_of_it = float(number)
        if not error_of_it <= FEATURES[name].tolerance:  # NaN fails too
            return survived, _Death(f"its numbers were wrong by {error_of_it:.0%}")
        survived.append(name)
    if death is None and len(survived) < len(features):
        death = _Death("it ended without an answer", certain=False)
    return survived, death


def _death(code: int, said: bytes) -> _Death | None:
    if code == 0:
        return None
    name = _WINDOWS.get(code & 0xFFFFFFFF, "")
    if code < 0:
        name = signal.Signals(-code).name
    if name == "SIGALRM":
        return _Death(f"it did not end within {_seconds():g} seconds")
    if name in _WORDS:
        return _Death(f"it ended with {name}, {_WORDS[name]}")
    lines = said.decode(errors="replace").strip().splitlines() or [name or f"exit code {code}"]
    words = "".join(c for c in lines[-1][:200] if c.isprintable())
    return _Death(f"it failed: {words}", certain=False)


def _seconds() -> float:
    named = os.environ.get(SECONDS, "60")
    try:
        seconds = float(named)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise MisuseError(SECONDS, got=named, expected="seconds above 0, 60 for example")
    return seconds
