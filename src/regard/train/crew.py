"""The gradient of a step, computed by several workers at once.

    group of batches ─ split ─┬─ worker 1 ─ gradients ─┐
                              └─ worker 2 ─ gradients ─┴─ sum ─ .grad of the weights

On a CPU two workers of one thread are faster than one of two: nobody waits at the end of each small
operation. torch lets go of Python's lock while it computes, so they are threads that share the
weights. Every part of a step has its own seed for dropout, and gradients are added in a fixed
order: a step depends on the weights, its number and its examples, and on nothing that came before.
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from regard.data.batch import Batch, split_batch
from regard.model.dropout import drawing_from
from regard.model.kernels import plain_kernels
from regard.model.transformer import Transformer
from regard.train.compute import Compute
from regard.train.label_smoothing import Loss
from regard.train.memory import keep_freed_memory

LossOf = Callable[[Transformer, Batch], Loss]


@dataclass(frozen=True)
class Sums:
    """Of a whole group: both losses, mean per target token."""

    smoothed: float
    plain: float


class Crew:
    """The workers; `gradients` fills `.grad` of the model's weights, `close` sends them home."""

    def __init__(self, model: Transformer, loss_of: LossOf, compute: Compute, seed: int) -> None:
        self.compute = compute
        self._loss_of, self._seed = loss_of, seed
        self._weights = _trained(model)
        self._model = model if compute.precision == "fp32" else copy.deepcopy(model).bfloat16()
        self._used = _trained(self._model)  # the weights themselves, or their copies
        keep_freed_memory()
        self._pool = ThreadPoolExecutor(
            compute.workers, "train", torch.set_num_threads, (compute.threads,)
        )

    def gradients(self, step: int, group: Sequence[Batch]) -> Sums:
        """The gradient of the mean loss per target token over the group, and that loss."""
        self._model.train()
        if self._used[0] is not self._weights[0]:
            with torch.no_grad():  # one cast per step instead of one per use
                torch._foreach_copy_(tuple(self._used), tuple(self._weights))
        targets = sum(int(batch.target_real.sum()) for batch in group)
        parts = [part for batch in group for part in split_batch(batch, self.compute.workers)]
        shares = [range(i, len(parts), self.compute.workers) for i in range(self.compute.workers)]
        jobs = [
            self._pool.submit(self._work, step, parts, share, targets) for share in shares if share
        ]
        done = [job.result() for job in jobs]
        self._add_up([gradients for gradients, _ in done])
        losses = np.sum([losses for _, losses in done], axis=0)
        return Sums(*(float(loss) for loss in losses))

    def _work(
        self, step: int, parts: Sequence[Batch], share: range, targets: int
    ) -> tuple[list[Tensor | None], tuple[float, float]]:
        """The summed gradients and losses of one worker's share of the parts."""
        total: list[Tensor | None] = [None] * len(self._used)
        smoothed = plain = 0.0
        for number in share:
            loss = self._loss(step, number, parts[number])
            found = torch.autograd.grad(loss.smoothed / targets, self._used, allow_unused=True)
            total = [_sum(a, b) for a, b in zip(total, found, strict=True)]
            smoothed += float(loss.smoothed.detach()) / targets
            plain += float(loss.plain) / targets
        return total, (smoothed, plain)

    def _loss(self, step: int, number: int, part: Batch) -> Loss:
        generator = torch.Generator(part.source.device)
        words = np.random.SeedSequence((self._seed, step, number)).generate_state(1)
        generator.manual_seed(int(words[0]))
        with drawing_from(generator):
            if self.compute.kernels == "fast":
                return self._loss_of(self._model, part)
            with plain_kernels():
                return self._loss_of(self._model, part)

    def _add_up(self, found: list[list[Tensor | None]]) -> None:
        for i, weight in enumerate(self._weights):
            total: Tensor | None = None
            for gradients in found:
                part = gradients[i]
                total = _sum(total, None if part is None else part.to(weight.dtype))
            weight.grad = total

    def close(self) -> None:
        self._pool.shutdown()


def _trained(model: Transformer) -> list[Parameter]:
    """The weights that get a gradient: all but the frozen ones."""
    return [weight for weight in model.parameters() if weight.requires_grad]


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """a + b into a's memory; None is nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b)
