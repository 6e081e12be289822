"""When memory is too small for a batch: said once, counted in the log, and training goes on."""

from regard.draw.terminal.progress import TrainingProgress
from regard.errors import OutOfMemoryError
from regard.runs.log import Log
from regard.training.data_parallel import Crew


class ShortOfMemory:
    """Watches how often the crew had to halve a part of a batch."""

    def __init__(self) -> None:
        self._told = 0

    def tell(self, crew: Crew, step: int, log: Log, bar: TrainingProgress) -> None:
        """A record for each step in which it happened, a sentence for the first."""
        if crew.halved == self._told:
            return
        if not self._told:
            bar.say(
                f"step {step:,}: memory is too small for a whole batch; it is computed in smaller "
                "parts from here on, with the same gradient (a lower train.token_budget with a "
                "higher train.accumulate avoids this)"
            )
        self._told = crew.halved
        log.write("memory", step, halved=crew.halved)


def cannot_go_on() -> OutOfMemoryError:
    """Memory ran out where nothing can be divided: in the optimizer, or while validating."""
    return OutOfMemoryError(
        "out of memory: train a smaller model (model.preset), lower train.token_budget, give it "
        "more (train.memory), or free some; what was saved stays, `regard train --resume` goes on"
    )
