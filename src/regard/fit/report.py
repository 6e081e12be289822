"""What is said while steps are made: in the log now and then, by the progress bar always.

That memory is too small for a batch is said once and counted; training goes on in smaller parts.
"""

from regard.draw.terminal.progress import TrainingProgress
from regard.runs.log import Log
from regard.training.data_parallel import DataParallel
from regard.training.loop import Step

LOG_EVERY = 10  # steps between lines of the log


class Reporter:
    """Tells log and bar about steps; keeps a smoothed speed for the eye."""

    def __init__(self) -> None:
        self._speed = 0.0  # tokens per second

    def tell(self, step: Step, epoch: int, log: Log, bar: TrainingProgress) -> None:
        speed = step.tokens / step.seconds
        self._speed = 0.95 * self._speed + 0.05 * speed if self._speed else speed
        due = step.number % LOG_EVERY == 0 or step.number == 1
        if due and step.skip_reason is None:  # a skipped one has a record of its own
            log.write(
                "train",
                step.number,
                loss=step.loss,
                plain_loss=step.plain_loss,
                learning_rate=step.learning_rate,
                gradient_norm=step.gradient_norm,
                padding=step.padding,
                epoch=epoch,
            )
        bar.update(
            step=step.number,
            loss=step.plain_loss,  # what validation measures too
            learning_rate=step.learning_rate,
            tokens_per_second=self._speed,
        )


class ShortOfMemory:
    """Watches how often the workers had to halve a part of a batch."""

    def __init__(self) -> None:
        self._told = 0

    def tell(self, workers: DataParallel, step: int, log: Log, bar: TrainingProgress) -> None:
        """A record for each step in which it happened, a sentence for the first."""
        if workers.halved == self._told:
            return
        if not self._told:
            bar.say(
                f"step {step:,}: memory is too small for a whole batch; it is computed in smaller "
                "parts from here on, with the same gradient (a lower train.token_budget with a "
                "higher train.accumulate avoids this)"
            )
        self._told = workers.halved
        log.write("memory", step, halved=workers.halved)
