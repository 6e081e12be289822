"""Two trainings into one new folder: one trains, as if it were alone, the other is refused.

side by side   the second begins a little later than the first: moments later, most of them
halted         the first stops at a moment of its preparation, or later, the second does all that it
               can, then the first goes on: what was looked at before has changed meanwhile
"""

import shutil
import signal
import time

from attacking.counted import Tally
from attacking.forked import Child, Done
from attacking.kills import Moments, moments_of
from attacking.tiny import Tiny, bits_of

MISUSE = 2


def races(tiny: Tiny, count: int, seed: int, tally: Tally) -> None:
    """Half of them side by side, half with a halt."""
    folder = tiny.place / "race"
    arguments = tiny.training(folder)
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.monotonic()
    Child(arguments).wait()
    seconds = time.monotonic() - begun
    halts = _halts(moments_of(tiny), count // 2)
    delays = [seconds * (n / count) ** 4 for n in range(count - len(halts))]
    for delay in delays:
        shutil.rmtree(folder, ignore_errors=True)
        first = Child(arguments)
        time.sleep(delay)
        second = Child(arguments)
        ends = [first.wait(), second.wait()]
        _count(tiny, ends, "side by side", f"{delay:.3f} s later", tally)
    for number in halts:
        shutil.rmtree(folder, ignore_errors=True)
        first = Child(arguments, Moments(number, number=signal.SIGSTOP).watch)
        first.wait_for_halt()
        second_end = Child(arguments).wait()
        first.go_on()
        _count(tiny, [first.wait(), second_end], "halted", f"moment {number}", tally)


def _halts(phases: list[str], count: int) -> list[int]:
    """Moments to stop at: of the preparation, spread over it, and one of the steps."""
    early = [number for number, name in enumerate(phases, start=1) if name == "preparation"]
    spread = [early[i * len(early) // max(1, count - 1)] for i in range(max(0, count - 1))]
    return [*spread, phases.index("steps") + 3][:count]


def _count(tiny: Tiny, ends: list[Done], place: str, when: str, tally: Tally) -> None:
    folder = tiny.place / "race"
    problem = _problem(ends) or ("" if bits_of(folder) == tiny.bits else "other bits")
    told = "; ".join(done.last_words for done in ends)
    tally.count("race", place, "wrong" if problem else "survived", f"{when}: {problem}; {told}")


def _problem(ends: list[Done]) -> str:
    if not all(done.is_clean for done in ends):
        return "a traceback or a signal"
    codes = sorted(done.code for done in ends)
    return "" if codes == [0, MISUSE] else f"exit codes {codes}"
