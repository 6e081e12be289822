"""The gradient of a step, computed by several workers at once.

    group   the batches of a step: train.accumulate of them
    batch   ≤ train.token_budget tokens (data/buckets.py)
    part    rows of a batch: each is divided among the workers (training/parts.py)
    half    of a part, or of a half, where memory is too small for it
    share   parts and halves that one worker computes (training/worker.py)

    group ─ shares ─┬─ this process     ─ gradients ─┐
                    └─ a worker process ─ gradients ─┴─ sum ─ .grad of the weights

On a CPU two workers of one thread are faster than one of two: nobody waits at the end of each small
operation. The first worker is this process, the others have one of their own; all see the same
weights. Every part of a step has its own seed for dropout, and gradients are added in a fixed
order: a step depends on the weights, its number and its examples, and on nothing that came before.
So where processes cannot share memory (training/shared.py), this one computes all shares in turn,
to the same bits.

A part that memory is too small for is halved, and halved again, when the others are done: the sum
over its rows, and with it the step, stays the same but for rounding.
"""

from collections.abc import Sequence

import torch

from regard.data.batch import Batch
from regard.errors import MisuseError
from regard.model.lora import Lora
from regard.model.transformer import Transformer
from regard.processor.survives import insist_on
from regard.training.compute import Compute
from regard.training.malloc import give_freed_memory_back, keep_freed_memory
from regard.training.parts import parts_of, too_large
from regard.training.shared import SharedTensors, can_share
from regard.training.worker import LossOf, MeanLoss, Share, ShareResult, Worker, trained
from regard.training.worker_process import WorkerProcess, is_known, use_shared


class DataParallel:
    """The workers; `gradients` fills `.grad` of the model's weights, `close` ends their processes.

    With `lora` the gradients are handed on to its A and B (model/lora.py).
    """

    def __init__(
        self,
        model: Transformer,
        loss_of: LossOf,
        compute: Compute,
        seed: int,
        most: int | None = None,
        lora: Lora | None = None,
    ) -> None:
        if compute.precision == "bf16" and next(model.parameters()).device.type == "cpu":
            insist_on("bf16", "train.precision", '"fp32" or "auto"')
        self.compute, self._model, self._lora = compute, model, lora
        self.halved = 0  # parts that memory was too small for
        self.most = most  # cells of a part that it suffices for, once that is known
        self._weights = trained(model)
        self._processes: list[WorkerProcess] = []
        keep_freed_memory()
        # The optimizer too: threads that meet for moments only spin where others want to work.
        torch.set_num_threads(compute.threads)
        if compute.workers > 1:
            self._start_processes(loss_of, seed)
        self._own = Worker(model, loss_of, compute, seed)

    def _start_processes(self, loss_of: LossOf, seed: int) -> None:
        on_cpu = self._weights[0].device.type == "cpu"
        if not (on_cpu and is_known(loss_of)):
            problem = "several workers are for training on a CPU"
            raise MisuseError("train.workers", problem, advice="set it to 1")
        if not can_share():
            return
        weights = list(self._model.parameters())
        self._memory = memory = SharedTensors(weights)
        with torch.no_grad():
            for place, weight in zip(memory.tensors, weights, strict=True):
                place.copy_(weight)
        use_shared(self._model, memory.tensors)
        self._processes = [
            WorkerProcess(self._model, loss_of, self.compute, seed, memory)
            for _ in range(self.compute.workers - 1)
        ]

    def gradients(self, step: int, group: Sequence[Batch]) -> MeanLoss:
        """The gradient of the mean loss per target token over the group, and that loss."""
        targets = sum(batch.targets for batch in group)
        workers = self.compute.workers
        parts = [half for part in parts_of(group, workers) for half in part.within(self.most)]
        shares = [Share(step, targets, parts[i::workers]) for i in range(workers)]
        running = 1 + len(self._processes)  # all workers, or only this process
        pairs = zip(self._processes, shares[1:running], strict=True)
        assigned = [(process, share) for process, share in pairs if share.parts]
        for process, share in assigned:
            process.ask(share)
        try:
            total = self._own.gradients(shares[0])
        finally:  # even if ours failed: no answer may be left for the next step
            answers = [process.listen() for process, _ in assigned]
        for (process, share), answer in zip(assigned, answers, strict=True):
            total.add(process.result(answer, share))
        for share in shares[running:]:
            total.add(self._own.gradients(share))
        self._do_again(step, targets, total)
        for weight, gradient in zip(self._weights, total.gradients, strict=True):
            weight.grad = gradient
        if self._lora is not None:
            self._lora.hand_on()
        return total.loss

    def _do_again(self, step: int, targets: int, total: ShareResult) -> None:
        """What failed for want of memory, in halves, by this process alone."""
        while total.failed:
            part = total.failed.pop()
            if len(part.batch) == 1:
                raise too_large(part)
            self.halved += 1
            self.most = min(part.cells - 1, self.most or part.cells)
            for half in part.halves():
                total.add(self._own.gradients(Share(step, targets, [half])))

    def close(self) -> None:
        """The weights become this process's own again."""
        for process in self._processes:
            process.close()
        if self._processes:
            use_shared(self._model, [w.detach().clone() for w in self._model.parameters()])
            self._memory.close()
            self._processes = []
        give_freed_memory_back()
