"""regard itself: workers, loop and optimizer as `regard train` uses them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from time import perf_counter

import torch
from plan import read_plan
from train_job import TrainJob

from regard.config import build
from regard.data.batch import Batch
from regard.fit.autotune import choose_compute
from regard.model.kernels import plain_kernels
from regard.model.transformer import Transformer
from regard.runs.sections import TrainSection
from regard.training.compute import Compute
from regard.training.data_parallel import DataParallel
from regard.training.loop import training_steps
from regard.training.losses import TranslationLoss, translation_loss
from regard.training.optimizer import make_adam


class Own:
    """Computes in the way that is given as option `compute`, else as its self-test chooses."""

    def __init__(self, job: TrainJob) -> None:
        self._job = job
        self._model = Transformer(job.spec, seed=job.seed)
        self._objective = TranslationLoss(job.smoothing)
        if "compute" in job.options:
            self._compute = build(Compute, job.options["compute"], "job")
            self.layout = str(self._compute)
        else:
            self._compute, self.layout = self._chosen()
        self.precision = self._compute.precision
        self.chosen = {"compute": asdict(self._compute)}

    def _chosen(self) -> tuple[Compute, str]:
        """What `regard train` would choose before its first step, and how it came about."""
        began = perf_counter()
        batches = read_plan(self._job.plan, "train")
        recipe = TrainSection(seed=self._job.seed, label_smoothing=self._job.smoothing)
        tuned = choose_compute(
            self._model,
            self._objective,
            lambda: ([batch] for batch in batches),
            recipe,
            torch.device("cpu"),
        )
        tried = "".join(f"; {way}: {speed:,.0f}" for way, speed in tuned.speeds.items())
        taken = f"chosen in {perf_counter() - began:.0f} s{tried}"
        return tuned.compute, f"{tuned.compute} ({taken})"

    def steps(self, batches: Sequence[Batch]) -> Iterator[float]:
        model, job = self._model, self._job
        groups = ([batch] for batch in batches)
        with closing(DataParallel(model, self._objective, self._compute, job.seed)) as workers:
            for step in training_steps(
                model, make_adam(model), groups, workers.gradients, job.rate, job.clip
            ):
                yield step.loss

    def loss(self, batch: Batch) -> float:
        self._model.eval()
        with plain_kernels(self._model):
            return float(translation_loss(self._model, batch, epsilon=0.0).plain)
