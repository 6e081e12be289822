"""One worker: the gradients of its share of a step, in the process where it lives."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.model.dropout import drawing_from
from regard.model.kernels import plain_kernels
from regard.model.transformer import Transformer
from regard.train.compute import Compute
from regard.train.label_smoothing import Loss

LossOf = Callable[[Transformer, Batch], Loss]


@dataclass(frozen=True)
class Share:
    """What a worker does of a step: some of its numbered parts."""

    step: int
    targets: int  # of the whole step: losses are means over them
    numbers: tuple[int, ...]
    parts: Sequence[Batch]


@dataclass(frozen=True)
class Sums:
    """Both losses, mean per target token of the whole step; of shares they add up."""

    smoothed: float
    plain: float

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.smoothed + other.smoothed, self.plain + other.plain)


class Worker:
    """Computes shares on the model's weights as they are at that moment."""

    def __init__(self, model: Transformer, loss_of: LossOf, compute: Compute, seed: int) -> None:
        self._loss_of, self._seed, self._plain = loss_of, seed, compute.kernels == "plain"
        self._weights = list(model.parameters())
        self._model = model if compute.precision == "fp32" else copy.deepcopy(model).bfloat16()
        self._used = list(self._model.parameters())  # the weights themselves, or their copies
        self._device = self._weights[0].device

    def gradients(self, share: Share) -> tuple[list[Tensor | None], Sums]:
        """The summed gradients of the parts, None for a weight that none of them uses."""
        self._model.train()
        if self._used[0] is not self._weights[0]:
            with torch.no_grad():  # one cast per step instead of one per use
                torch._foreach_copy_(tuple(self._used), tuple(self._weights))
        total: list[Tensor | None] = [None] * len(self._used)
        sums = Sums(0.0, 0.0)
        for number, part in zip(share.numbers, share.parts, strict=True):
            loss = self._loss(share.step, number, part.to(self._device))
            mean = loss.smoothed / share.targets
            found = torch.autograd.grad(mean, self._used, allow_unused=True)
            wide = (
                None if one is None else one.to(weight.dtype)  # sums of bf16 are kept in fp32
                for one, weight in zip(found, self._weights, strict=True)
            )
            total = [added(a, b) for a, b in zip(total, wide, strict=True)]
            sums += Sums(float(mean.detach()), float(loss.plain) / share.targets)
        return total, sums

    def _loss(self, step: int, number: int, part: Batch) -> Loss:
        generator = torch.Generator(self._device)
        words = np.random.SeedSequence((self._seed, step, number)).generate_state(1)
        generator.manual_seed(int(words[0]))
        with drawing_from(generator):
            if not self._plain:
                return self._loss_of(self._model, part)
            with plain_kernels():
                return self._loss_of(self._model, part)


def added(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """a + b into a's memory; None is nothing."""
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b)
