"""Two trainings into one new folder: one trains, as if it were alone, the other is refused."""

import shutil
import time

from attacking.counted import Tally
from attacking.forked import Child, Done
from attacking.tiny import Tiny, bits_of

MISUSE = 2


def races(tiny: Tiny, count: int, seed: int, tally: Tally) -> None:
    """The second begins between 0 seconds and the length of a training after the first."""
    expected = tiny.bits
    folder = tiny.place / "race"
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.monotonic()
    Child(tiny.training(folder)).wait()
    whole = time.monotonic() - begun
    for number in range(count):
        shutil.rmtree(folder, ignore_errors=True)
        # Most of them early, where the folder is made.
        later = whole * (number / max(1, count - 1)) ** 2
        first = Child(tiny.training(folder))
        time.sleep(later)
        second = Child(tiny.training(folder))
        ends = [first.wait(), second.wait()]
        problem = _problem(ends) or ("" if bits_of(folder) == expected else "other bits")
        story = f"{later:.2f} s later: {problem}; " + "; ".join(d.last_words for d in ends)
        tally.count("race", "a new folder", "wrong" if problem else "survived", story)


def _problem(ends: list[Done]) -> str:
    if not all(done.is_clean for done in ends):
        return "a traceback"
    codes = sorted(done.code for done in ends)
    return "" if codes == [0, MISUSE] else f"exit codes {codes}"
