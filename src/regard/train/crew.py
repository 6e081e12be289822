"""The gradient of a step, computed by several workers at once.

    group of batches ─ split ─┬─ worker 1 ─ gradients ─┐
                              └─ worker 2 ─ gradients ─┴─ sum ─ .grad of the weights

On a CPU two workers of one thread are faster than one of two: nobody waits at the end of each small
operation. torch lets go of Python's lock while it computes, so they are threads that share the
weights. Every part of a step has its own seed for dropout, and gradients are added in a fixed
order: a step depends on the weights, its number and its examples, and on nothing that came before.

A part for which memory does not suffice is halved, and halved again, when the other workers are
done: the sum over its rows, and with it the step, stays the same but for rounding.
"""

import copy
import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.model.dropout import drawing_from, rows_of
from regard.model.kernels import plain_kernels
from regard.model.transformer import Transformer
from regard.train.compute import Compute
from regard.train.label_smoothing import Loss
from regard.train.memory import keep_freed_memory
from regard.train.memory_limit import is_out_of_memory
from regard.train.parts import Part, parts_of, too_large

LossOf = Callable[[Transformer, Batch], Loss]


@dataclass(frozen=True)
class Sums:
    """Of a whole group: both losses, mean per target token."""

    smoothed: float
    plain: float


@dataclass
class Done:
    """Of some parts: summed gradients, both losses, and the parts that memory was too small for."""

    gradients: list[Tensor | None]
    smoothed: float
    plain: float
    failed: list[Part]


class Crew:
    """The workers; `gradients` fills `.grad` of the model's weights, `close` sends them home."""

    def __init__(self, model: Transformer, loss_of: LossOf, compute: Compute, seed: int) -> None:
        self.compute = compute
        self._loss_of, self._seed = loss_of, seed
        self._weights = list(model.parameters())
        self._model = model if compute.precision == "fp32" else copy.deepcopy(model).bfloat16()
        self._used = list(self._model.parameters())  # the weights themselves, or their copies
        self.halved = 0  # parts that memory was too small for
        self._most: int | None = None  # cells of a part that it is too small for
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
        parts = parts_of(group, self.compute.workers)
        if self._most is not None:  # known from an earlier step: no need to fail again
            parts = [half for part in parts for half in part.within(self._most)]
        shares = [parts[i :: self.compute.workers] for i in range(self.compute.workers)]
        jobs = [self._pool.submit(self._work, step, share, targets) for share in shares if share]
        done = [job.result() for job in jobs]
        self._do_again(step, done, targets)
        self._add_up([one.gradients for one in done])
        # One sum after the other in a fixed order, as the gradients.
        return Sums(sum(one.smoothed for one in done), sum(one.plain for one in done))

    def _do_again(self, step: int, done: list[Done], targets: int) -> None:
        """What failed for want of memory, in halves, one at a time: nobody else takes any now."""
        failed = list(chain.from_iterable(one.failed for one in done))
        while failed:
            part = failed.pop()
            self.halved += 1
            self._most = min(part.cells - 1, self._most or part.cells)
            for half in part.halves():
                again = self._pool.submit(self._work, step, [half], targets).result()
                first = done[0]
                first.gradients = [
                    _sum(a, b) for a, b in zip(first.gradients, again.gradients, strict=True)
                ]
                first.smoothed += again.smoothed
                first.plain += again.plain
                failed += again.failed

    def _work(self, step: int, share: Sequence[Part], targets: int) -> Done:
        """The summed gradients and losses of one worker's share of the parts."""
        done = Done([None] * len(self._used), 0.0, 0.0, [])
        for part in share:
            try:
                loss = self._loss(step, part)
                found = torch.autograd.grad(loss.smoothed / targets, self._used, allow_unused=True)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if len(part.batch.source) == 1:
                    raise too_large(part) from None
                done.failed.append(part)
            else:
                sums = zip(done.gradients, found, strict=True)
                done.gradients = [_sum(a, b) for a, b in sums]
                done.smoothed += float(loss.smoothed.detach()) / targets
                done.plain += float(loss.plain) / targets
                continue
            gc.collect()  # now that the error, and what its frames held, is gone
        return done

    def _loss(self, step: int, part: Part) -> Loss:
        generator = torch.Generator(part.batch.source.device)
        words = np.random.SeedSequence((self._seed, step, part.number)).generate_state(1)
        generator.manual_seed(int(words[0]))
        with drawing_from(generator), rows_of(part.rows, part.start):
            if self.compute.kernels == "fast":
                return self._loss_of(self._model, part.batch)
            with plain_kernels():
                return self._loss_of(self._model, part.batch)

    def _add_up(self, found: list[list[Tensor | None]]) -> None:
        for i, weight in enumerate(self._weights):
            total: Tensor | None = None
            for gradients in found:
                part = gradients[i]
                total = _sum(total, None if part is None else part.to(weight.dtype))
            weight.grad = total

    def close(self) -> None:
        self._pool.shutdown()


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """a + b into a's memory; None is nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b)
