"""regard itself: the loop and the optimizer that `regard train` uses."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from train_job import TrainJob

from regard.data.batch import Batch
from regard.model.transformer import Transformer
from regard.train.loop import training_steps
from regard.train.objectives import translation_loss
from regard.train.optimizer import make_adam


class Own:
    def __init__(self, job: TrainJob) -> None:
        self._job = job
        self._model = Transformer(job.spec, seed=job.seed)
        self.layout, self.precision = "today", "fp32"
        self.chosen: dict[str, Any] = {}

    def steps(self, batches: Sequence[Batch]) -> Iterator[float]:
        loss_of = partial(translation_loss, self._model, epsilon=self._job.smoothing)
        groups = ([batch] for batch in batches)
        for step in training_steps(
            self._model, make_adam(self._model), groups, loss_of, self._job.rate, self._job.clip
        ):
            yield step.loss

    def loss(self, batch: Batch) -> float:
        self._model.eval()
        return float(translation_loss(self._model, batch, epsilon=0.0).plain)
