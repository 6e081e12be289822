"""The question that every way to compute asks first: does this processor survive it?

    ruled_out("bf16")      "" or why not: `auto` does not take it then
    insist_on("bf16", …)   an error instead of a crash, for those who asked for it by name
    get_ready()            before torch computes anything: plain fp32, and the caps that are needed

fp32, bf16     products of torch                   int16    our loops (model/fast/int16.py)
ctranslate2    that engine in fp32                 int8     that engine in int8

The first to ask pays for a trial in a child process (probe.py); what it found is kept for this
machine (kept.py), and later commands only read it. torch is not imported here.
"""

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from regard.errors import MisuseError, RegardError
from regard.processor import caps, kept, simulate
from regard.processor.kept import TrialAnswer
from regard.processor.machine import identity, library_version
from regard.processor.probe import FEATURES, try_library

QUIET_SECONDS = 2.0
_answered: dict[str, dict[str, TrialAnswer]] = {}  # by file of the machine, in this process
_lock = threading.Lock()


def ruled_out(feature: str) -> str:
    """Why this is not to be computed here; empty: it may be, and the cap it needs is set."""
    if simulate.IN_TRIAL in os.environ:  # this is the process that may die of it
        return ""
    library = FEATURES[feature].library
    if not library_version(library):  # whoever needs it says how to get it
        return ""
    # A trial compares with torch. Without it, engines/engines.py takes only what was tried
    # elsewhere on a processor of the same name.
    if not library_version("torch"):
        return ""
    answer = answers(feature)[feature]
    if answer.rung is None:
        return f"{feature}: tried in a process of its own, {answer.deaths[-1]}"
    if not caps.apply(answer.rung, library):
        cap = ", ".join(f"{name}={value}" for name, value in caps.LADDER[answer.rung].items())
        return (
            f"{feature} without {cap}: that must be set before {library} computes anything, and "
            f"{library} was imported before regard; import regard first, or set it yourself"
        )
    return ""


def insist_on(feature: str, option: str, instead: str) -> None:
    """A MisuseError where `option` asks for what would end the process."""
    reason = ruled_out(feature)
    if reason:
        problem = f"this machine does not survive {reason}"
        raise MisuseError(option, problem, advice=f"use {instead}")


def get_ready() -> None:
    """Make sure of fp32, and set the caps of torch, before it computes on the processor."""
    if simulate.IN_TRIAL in os.environ:
        return
    fp32 = answers("fp32", "bf16")["fp32"]
    if fp32.rung is None and fp32.certain:
        raise RegardError(
            f"torch does not work on this processor, even in fp32: {fp32.deaths[-1]}; "
            "try another version of torch, or another machine"
        )
    for feature in ("fp32", "bf16"):
        ruled_out(feature)


def answers(*features: str) -> dict[str, TrialAnswer]:
    """What became of each of them; those that nobody tried are tried now, libraries at once."""
    here = about()
    with _lock:
        answered = _answered.setdefault(str(kept.place(here)), {})
        if not set(features) <= set(answered):
            answered |= {n: a for n, a in kept.read_answers(here).items() if n in FEATURES}
        missing = {FEATURES[f].library for f in features if f not in answered}
        if missing:
            new = _tried([[n for n in FEATURES if FEATURES[n].library == m] for m in missing])
            answered |= new
            kept.keep(here, new)
            _say(new)
        return {feature: answered[feature] for feature in features}


def about() -> dict[str, str]:
    """The machine, and what makes it answer otherwise: what is kept holds for exactly this."""
    set_by_user = " ".join(f"{n}={v}" for n, v in caps.users_caps().items())
    pretended = os.environ.get(simulate.VARIABLE, "")
    return {**identity(), "caps": set_by_user, "simulated": pretended}


def _tried(groups: Sequence[Sequence[str]]) -> dict[str, TrialAnswer]:
    """One child after the other for each library, the libraries side by side."""
    line = "regard: finding out what this processor can do (once) …"
    timer = threading.Timer(QUIET_SECONDS, lambda: print(line, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        with ThreadPoolExecutor(len(groups)) as pool:
            results = list(pool.map(try_library, groups))
    finally:
        timer.cancel()
    return {name: answer for of_library in results for name, answer in of_library.items()}


def _say(new: dict[str, TrialAnswer]) -> None:
    """One line for each feature that is not as it should be, the first time."""
    for feature, answer in new.items():
        if not answer.deaths:
            continue
        line = f"regard: {feature} is not used on this machine; tried in a process of its own, "
        line += answer.deaths[-1]
        if answer.rung is not None:
            cap = " ".join(f"{n}={v}" for n, v in caps.LADDER[answer.rung].items())
            line = (
                f"regard: {feature} works on this machine with {cap} only, which is set from now "
                f"on; without, {answer.deaths[0]}"
            )
        print(line, file=sys.stderr, flush=True)
