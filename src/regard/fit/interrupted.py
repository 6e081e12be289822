"""The second Ctrl-C ends a training at once: what is left, and how to go on, is said first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from regard.checkpoint.files import steps_saved
from regard.runs.folder import Run, typed


@contextmanager
def told_how_to_go_on(run: Run, say: Callable[[str], None]) -> Iterator[None]:
    """Around a training: an interrupt goes through, after a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        steps = steps_saved(run.checkpoints)
        kept = f"step {steps[-1]:,} is saved" if steps else "no checkpoint was written yet"
        say(f"Stopped at once: {kept}, what came after it is done again.")
        say(f"Go on with: regard train --resume {typed(run.folder)}")
        raise
