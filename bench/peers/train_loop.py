"""The loop that people write around a module: forward, loss, backward, clip, Adam.

Options are what experts add on a CPU: `fused`, Adam as one kernel; `autocast`, the forward pass
under torch.autocast in bf16.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from job import spelled
from torch import Tensor, nn
from torch.nn import functional as F
from train_job import TrainJob

from regard.data.batch import Batch

IGNORED = -100  # what cross_entropy takes for padding


class Loop:
    """A learner made of a module and the way it is called; logits are B × L × V."""

    def __init__(
        self, name: str, model: nn.Module, logits: Callable[[Batch], Tensor], job: TrainJob
    ) -> None:
        self._model, self._logits, self._job = model, logits, job
        fused = {"fused": True} if job.options.get("fused") else {}
        self._autocast = bool(job.options.get("autocast"))
        adam: dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-9, **fused}
        self._optimizer = torch.optim.Adam(model.parameters(), **adam)
        self.precision = "bf16" if self._autocast else "fp32"
        forward = "torch.autocast bf16" if self._autocast else "float32"
        threads = torch.get_num_threads()
        self.layout = f"{name}; {forward}; Adam({spelled(adam)}); threads {threads}"
        self.chosen: dict[str, Any] = {}

    def steps(self, batches: Sequence[Batch]) -> Iterator[float]:
        self._model.train()
        for number, batch in enumerate(batches, start=1):
            for group in self._optimizer.param_groups:
                group["lr"] = self._job.rate(number)
            self._optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=self._autocast):
                loss = self._cross_entropy(batch, label_smoothing=self._job.smoothing)
            loss.backward()
            nn.utils.clip_grad_norm_(self._model.parameters(), self._job.clip)
            self._optimizer.step()
            yield loss.item()

    def loss(self, batch: Batch) -> float:
        self._model.eval()
        return self._cross_entropy(batch, reduction="sum").item()

    def _cross_entropy(self, batch: Batch, **options: Any) -> Tensor:
        truth = batch["target_out"].masked_fill(~batch["target_real"], IGNORED)
        return F.cross_entropy(self._logits(batch).flatten(0, 1), truth.flatten(), **options)
