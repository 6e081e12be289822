"""SIGKILL at chosen moments of a training, then `--resume`: the same bits, or it is wrong.

A first training counts its moments: everything that it does to the disk, each step, each
validation, each set of weights that it reads or tries. Those that follow are killed at some of
them, spread evenly over each phase; the process ends itself, in the middle, as a power cut would.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

from attacking.counted import Tally
from attacking.forked import run
from attacking.tiny import Tiny, bits_of

DISK = ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir")
PHASES = ("preparation", "steps", "validation", "checkpoint", "averaging", "final weights")


class Moments:
    """Counts the moments of this process; sends it a signal at the one of that number."""

    def __init__(
        self, last: int = 0, told: Path | None = None, number: int = signal.SIGKILL
    ) -> None:
        self._last, self._told, self._signal = last, told, number
        self._count, self._phases = 0, ["preparation"]

    def here(self) -> None:
        """A moment."""
        self._count += 1
        if self._told is not None:
            with self._told.open("a") as file:
                file.write(f"{self._phases[-1]}\n")
        if self._count == self._last:
            os.kill(os.getpid(), self._signal)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._phases.append(name)
        try:
            yield
        finally:
            self._phases.pop()

    def watch(self) -> None:
        """Let this process tell its moments."""
        from regard.checkpoint import training_state
        from regard.fit import final, trainer
        from regard.training.data_parallel import DataParallel

        for name in DISK:
            self._around(os, name)
        self._around(DataParallel, "gradients")
        self._around(training_state, "load_weights")
        self._around(final, "load_into")
        self._during(trainer.Trainer, "_steps_until_end", "steps")
        self._during(trainer.Trainer, "_validate", "validation")
        self._during(trainer.Trainer, "_save", "checkpoint")
        self._during(trainer.Trainer, "finish", "final weights")
        self._during(training_state, "average_weights", "averaging")

    def _around(self, owner: Any, name: str) -> None:
        """A moment before each call."""
        real: Callable[..., Any] = vars(owner)[name]

        @wraps(real)
        def watched(*given: Any, **named: Any) -> Any:
            self.here()
            return real(*given, **named)

        setattr(owner, name, watched)

    def _during(self, owner: Any, name: str, phase: str) -> None:
        """A moment before and one after, and those in between belong to the phase."""
        real: Callable[..., Any] = vars(owner)[name]

        @wraps(real)
        def watched(*given: Any, **named: Any) -> Any:
            with self.phase(phase):
                self.here()
                result = real(*given, **named)
                self.here()
                return result

        setattr(owner, name, watched)


def kills(tiny: Tiny, count: int, seed: int, tally: Tally) -> None:
    """Kill, resume, compare."""
    expected, phases = tiny.bits, moments_of(tiny)
    for number in chosen(phases, count):
        folder = tiny.place / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        done = run(*tiny.training(folder), before=Moments(number).watch)
        phase = phases[number - 1]
        count_one = partial(tally.count, "SIGKILL", phase)
        if done.code != -signal.SIGKILL:
            count_one("wrong", f"moment {number} was not reached: {done.last_words}")
            continue
        again = run("train", "--resume", str(folder))
        begun = folder.exists() and "begins it again" not in again.err
        if again.code and again.is_clean and not begun:  # there was no run yet, and it said so
            again = run(*tiny.training(folder))
        same = again.code == 0 and bits_of(folder) == expected
        count_one("survived" if same else "wrong", f"moment {number}: {again.last_words}")


def moments_of(tiny: Tiny) -> list[str]:
    """The phase of each moment of the training, which is done once to count them."""
    told = tiny.place / "moments"
    if not told.exists():
        run(*tiny.training(tiny.place / "counted"), before=Moments(told=told).watch)
    return told.read_text().split("\n")[:-1]


def chosen(phases: list[str], count: int) -> list[int]:
    """So many moments, numbered from 1: as many of each phase as of any other, spread over it."""
    numbers: list[int] = []
    for place, phase in enumerate(PHASES):
        known = [number for number, name in enumerate(phases, start=1) if name == phase]
        wanted = min(len(known), count // len(PHASES) + (place < count % len(PHASES)))
        numbers += [known[i * len(known) // wanted] for i in range(wanted)]
    return numbers
