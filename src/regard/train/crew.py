"""The gradient of a step, computed by several workers at once.

    group of batches ─ split ─┬─ we          ─ gradients ─┐
                              └─ a colleague ─ gradients ─┴─ sum ─ .grad of the weights

On a CPU two workers of one thread are faster than one of two: nobody waits at the end of each small
operation. The first worker is this process, the others have one of their own; all see the same
weights. Every part of a step has its own seed for dropout, and gradients are added in a fixed
order: a step depends on the weights, its number and its examples, and on nothing that came before.
"""

from collections.abc import Sequence

import torch

from regard.data.batch import Batch, split_batch
from regard.errors import MisuseError
from regard.model.transformer import Transformer
from regard.train.colleague import Colleague, use_shared
from regard.train.compute import Compute
from regard.train.memory import keep_freed_memory
from regard.train.objectives import Translation
from regard.train.shared import SharedTensors, can_share
from regard.train.worker import LossOf, Share, Sums, Worker, added


class Crew:
    """The workers; `gradients` fills `.grad` of the model's weights, `close` sends them home."""

    def __init__(self, model: Transformer, loss_of: LossOf, compute: Compute, seed: int) -> None:
        self.compute, self._model = compute, model
        self._weights = list(model.parameters())
        self._colleagues: list[Colleague] = []
        keep_freed_memory()
        # The optimizer too: threads that meet for moments only spin where colleagues want to work.
        torch.set_num_threads(compute.threads)
        if compute.workers > 1:
            self._hire(loss_of, seed)
        self._own = Worker(model, loss_of, compute, seed)

    def _hire(self, loss_of: LossOf, seed: int) -> None:
        on_cpu = self._weights[0].device.type == "cpu"
        if not (can_share() and on_cpu and isinstance(loss_of, Translation)):
            raise MisuseError(
                "train.workers: several workers are for translation on a CPU under Linux; set it "
                "to 1"
            )
        self._memory = memory = SharedTensors(self._weights)
        with torch.no_grad():
            for place, weight in zip(memory.tensors, self._weights, strict=True):
                place.copy_(weight)
        use_shared(self._model, memory.tensors)
        self._colleagues = [
            Colleague(self._model.spec, loss_of, self.compute, seed, memory)
            for _ in range(self.compute.workers - 1)
        ]

    def gradients(self, step: int, group: Sequence[Batch]) -> Sums:
        """The gradient of the mean loss per target token over the group, and that loss."""
        targets = sum(int(batch.target_real.sum()) for batch in group)
        workers = self.compute.workers
        parts = [part for batch in group for part in split_batch(batch, workers)]
        shares = [
            Share(step, targets, tuple(range(i, len(parts), workers)), parts[i::workers])
            for i in range(workers)
        ]
        asked = [(c, s) for c, s in zip(self._colleagues, shares[1:], strict=True) if s.parts]
        for colleague, share in asked:
            colleague.ask(share)
        try:
            total, sums = self._own.gradients(shares[0])
        finally:  # even if ours failed: no answer may be left for the next step
            said = [colleague.listen() for colleague, _ in asked]
        for (colleague, _), answer in zip(asked, said, strict=True):
            gradients, more = colleague.gradients(answer)
            total = [added(a, b) for a, b in zip(total, gradients, strict=True)]
            sums += more
        for weight, gradient in zip(self._weights, total, strict=True):
            weight.grad = gradient
        return sums

    def close(self) -> None:
        """The weights become this process's own again."""
        for colleague in self._colleagues:
            colleague.close()
        if self._colleagues:
            use_shared(self._model, [weight.detach().clone() for weight in self._weights])
            self._memory.close()
            self._colleagues = []
