"""The checkpoints that a run keeps: written, thinned out; a disk that is full is told and survived.

Of the older ones stay those that the end may average, the best, and always one more than the last:
if the last is damaged, the run goes on from there.
"""

import errno
from contextlib import suppress
from pathlib import Path

import torch

from regard import atomic
from regard.checkpoint import training_state
from regard.checkpoint.files import folder_name, steps_saved
from regard.checkpoint.training_state import Checkpoint
from regard.printable import Say
from regard.runs.folder import RunFolder
from regard.runs.sections import TrainSection
from regard.training.state import Progress

Identity = tuple[int, int]  # of a folder, whatever its name is
FEWEST = 2  # regular checkpoints that are kept


class CheckpointManager:
    """Writes the checkpoints of one run; `unsaved` says why the last one could not be written."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.unsaved = ""
        self._place = _identity(run.folder)

    @property
    def root(self) -> Path:
        return self.run.checkpoints

    def save(
        self,
        content: Checkpoint,
        progress: Progress,
        train: TrainSection,
        say: Say,
    ) -> None:
        """A checkpoint of this moment. If that fails, the older ones stay and training goes on."""
        step = progress.step
        broken = [n for n, w in content.weights.items() if not bool(torch.isfinite(w).all())]
        if broken:  # it could not be taken up again
            self._failed(step, self.root, f"{broken[0]} holds NaN or infinity", say)
            return
        try:
            self.check_place()
            training_state.save_checkpoint(self.root, step, content)
            self.run.update_info(step=step, best_step=progress.best_step)
        except OSError as error:
            self._failed(step, error.filename or self.root, error.strerror or str(error), say)
            return
        self.unsaved = ""
        regular = self.regular_steps(train)[-max(FEWEST, train.average) :]
        for old in set(steps_saved(self.root)) - {*regular, progress.best_step, step}:
            atomic.remove_folder(self.root / folder_name(old))

    def check_place(self) -> None:
        """Refuse to write where the run's folder is no longer, or is another one by now.

        Its name would be made again, or be that of somebody else's run.
        """
        if self._place is None or _identity(self.run.folder) != self._place:
            gone = "the folder of this run was moved or deleted while it trained"
            raise FileNotFoundError(errno.ENOENT, gone, str(self.run.folder))

    def note(self, **changes: object) -> None:
        """Into run.json, if the disk has room; nothing depends on it."""
        with suppress(OSError):
            self.check_place()
            self.run.update_info(**changes)

    def _failed(self, step: int, file: str | Path, why: str, say: Say) -> None:
        self.unsaved = why
        steps = steps_saved(self.root)
        last = f"the last one is of step {steps[-1]:,}" if steps else "there is none yet"
        say(
            f"ERROR: step {step:,}: the checkpoint could not be written to {file}: {why}; "
            f"{last}; training goes on and tries again at the next checkpoint"
        )

    def regular_steps(self, train: TrainSection) -> list[int]:
        """Checkpoints that an uninterrupted run has too: not those written at a request to stop.

        Where the clock says when (validate_every 0), no two runs have the same: there all count.
        """
        saved = steps_saved(self.root)
        if not train.validate_every:
            return saved
        return [s for s in saved if s % train.validate_every == 0 or s == train.last_step]


def _identity(folder: Path) -> Identity | None:
    try:
        stat = folder.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
