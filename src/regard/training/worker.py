"""One worker: forward, loss and backward of its share of a step, in the process where it lives."""

import copy
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from regard.data.batch import Batch
from regard.model.dropout import drawing_from
from regard.model.kernels import plain_kernels
from regard.model.transformer import Transformer
from regard.processor.simulate import dies_as_simulated
from regard.training.compute import Compute
from regard.training.label_smoothing import SummedLoss
from regard.training.memory_limit import is_out_of_memory
from regard.training.parts import BatchPart

LossOf = Callable[[Transformer, Batch], SummedLoss]


@dataclass(frozen=True)
class Share:
    """What a worker does of a step (training/data_parallel.py draws it)."""

    step: int
    targets: int  # of the whole step: losses are means over them
    parts: Sequence[BatchPart]


@dataclass(frozen=True)
class MeanLoss:
    """Both losses, mean per target token of the whole step; of shares they add up."""

    smoothed: float
    plain: float

    def __add__(self, other: "MeanLoss") -> "MeanLoss":
        return MeanLoss(self.smoothed + other.smoothed, self.plain + other.plain)


@dataclass
class ShareResult:
    """Of a share: summed gradients (None for a weight that nothing used) and its loss.

    `failed` are the parts that memory was too small for; they are in neither.
    """

    gradients: list[Tensor | None]
    loss: MeanLoss
    failed: list[BatchPart]

    def add(self, other: "ShareResult") -> None:
        """Another share of the same step."""
        both = zip(self.gradients, other.gradients, strict=True)
        self.gradients = [_added(a, b) for a, b in both]
        self.loss += other.loss
        self.failed += other.failed


class Worker:
    """Computes shares on the model's weights as they are at that moment."""

    def __init__(self, model: Transformer, loss_of: LossOf, compute: Compute, seed: int) -> None:
        self._loss_of, self._seed, self._plain = loss_of, seed, compute.kernels == "plain"
        self._weights = trained(model)
        self._model = model if compute.precision == "fp32" else copy.deepcopy(model).bfloat16()
        self._used = trained(self._model)  # the weights themselves, or their copies
        self._device = self._weights[0].device

    def gradients(self, share: Share) -> ShareResult:
        """The gradients of the parts, added up in their order."""
        self._model.train()
        if self._used[0] is not self._weights[0]:
            with torch.no_grad():  # one cast per step instead of one per use
                torch._foreach_copy_(tuple(self._used), tuple(self._weights))
        total = ShareResult([None] * len(self._used), MeanLoss(0.0, 0.0), [])
        for part in share.parts:
            try:
                with dies_as_simulated():
                    one = self._one(share, part)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                one = ShareResult([None] * len(self._used), MeanLoss(0.0, 0.0), [part])
            if one.failed:  # now that the error, and what its frames held, is gone
                gc.collect()
            total.add(one)
        return total

    def _one(self, share: Share, part: BatchPart) -> ShareResult:
        loss = self._loss(share.step, part)
        mean = loss.smoothed / share.targets
        # Backward, but not into .grad: parts and shares are added in a fixed order.
        gradients = torch.autograd.grad(mean, self._used, allow_unused=True)
        wide: list[Tensor | None] = [
            None if one is None else one.to(weight.dtype)  # sums of bf16 are kept in fp32
            for one, weight in zip(gradients, self._weights, strict=True)
        ]
        return ShareResult(
            wide, MeanLoss(float(mean.detach()), float(loss.plain) / share.targets), []
        )

    def _loss(self, step: int, part: BatchPart) -> SummedLoss:
        generator = torch.Generator(self._device)
        words = np.random.SeedSequence((self._seed, step, part.number)).generate_state(1)
        generator.manual_seed(int(words[0]))
        batch = part.batch.to(self._device)
        with drawing_from(generator, part.rows, part.start):
            if not self._plain:
                return self._loss_of(self._model, batch)
            with plain_kernels(self._model):
                return self._loss_of(self._model, batch)


def trained(model: Transformer) -> list[Parameter]:
    """The weights that get a gradient: all but the frozen ones (training/freeze.py)."""
    return [weight for weight in model.parameters() if weight.requires_grad]


def _added(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """a + b into a's memory; None is nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b)
