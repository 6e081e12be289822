"""A moving average of the weights (EMA): smoother than any single step, without a second training.

a_1 = w_1,  a_t = d_t · a_(t-1) + (1 - d_t) · w_t,  d_t = min(decay, t / (9 + t))

The second bound of d is the usual correction for the beginning: without it a decay of 0.999 still
remembers a third of the untrained weights after a thousand steps. Frozen weights are left out.
"""

import torch
from torch import Tensor, nn

from regard.errors import CheckpointError

SUFFIX = ".ema"


class MovingAverage:
    """Of a model's weights while it trains; a decay of 0 switches it off."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._weights = {n: w for n, w in model.named_parameters() if decay and w.requires_grad}
        self._average: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after `step` in; the first step is 1."""
        if not self._average:
            self._average = {name: w.detach().clone() for name, w in self._weights.items()}
        elif self._weights:
            keep = min(self.decay, step / (9 + step))
            averages = list(self._average.values())
            torch._foreach_lerp_(averages, list(self._weights.values()), 1 - keep)

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint, each named after its weight."""
        return {f"{name}{SUFFIX}": average for name, average in self._average.items()}

    def restore(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Take the averages out of a checkpoint's tensors; what is left is the optimizer's."""
        averages = {n.removesuffix(SUFFIX): t for n, t in tensors.items() if n.endswith(SUFFIX)}
        if set(averages) != set(self._weights):
            raise CheckpointError(
                f"moving average: the checkpoint holds {len(averages)} weights, with train.ema "
                f"{self.decay:g} there are {len(self._weights)}; resume with the run's own recipe"
            )
        places = {name: weight.device for name, weight in self._weights.items()}
        self._average = {n: averages[n].to(place, copy=True) for n, place in places.items()}
        return {name: t for name, t in tensors.items() if not name.endswith(SUFFIX)}

    def candidate(self, weights: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """A name for a person → `weights` with the averages in their places; empty if off."""
        if not self._average:
            return {}
        copies = {name: average.clone() for name, average in self._average.items()}
        rest = {name: w.detach().clone() for name, w in weights.items() if name not in copies}
        return {f"the moving average of the weights (decay {self.decay:g})": copies | rest}
