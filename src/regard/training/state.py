"""Where a run stands: everything besides weights and optimizer that exact resume needs.

Chance has no state to keep: order and dropout are drawn anew for each epoch and step, from the seed
and its number.
"""

from dataclasses import dataclass


@dataclass
class Progress:
    """Position in the data, best score and patience; plain numbers, saved as JSON."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of the epoch that were used
    seconds: float = 0.0  # spent in training so far
    validated: float = 0.0  # … when the last validation was over
    validation_seconds: float = 0.0  # that the last whole one took
    expected: float = 0.0  # steps that the minutes allow, as the self-test guessed
    tokens: int = 0
    best_loss: float | None = None
    best_step: int = 0
    since_best: int = 0  # validations without improvement
    since_cut: int = 0  # of schedule = "plateau": validations since the rate was cut or one helped
    rate_cuts: int = 0  # how often it was cut
    validate_first: bool = False  # the validation of this step was interrupted
    logged: int = 0  # records of the log at this moment
    log_sha256: str = ""  # … and their checksum
    most_cells: int | None = None  # of a part of a batch, where memory is short
    # What training/watch.py needs to remember:
    recent: tuple[float, ...] = ()  # losses of the last steps that were taken
    skipped: int = 0  # steps that were not taken, of all
    in_a_row: int = 0  # … and since the last one that was
    spikes: int = 0  # … of these, losses far above the usual, without a break
    rollbacks: int = 0  # to the same checkpoint

    def note_validation(self, loss: float) -> bool:
        """Count a validation of this step; whether it is the best so far."""
        if self.best_loss is not None and loss >= self.best_loss:
            self.since_best += 1
            return False
        self.best_loss, self.best_step, self.since_best = loss, self.step, 0
        return True
