"""Adam as in section 5.3 (β1 0.9, β2 0.98, ε 1e-9), and its state as plain named tensors.

    m ← β1 m + (1 - β1) g        v ← β2 v + (1 - β2) g²
    w ← w - rate · m̂ / (√v̂ + ε)     with m̂ = m / (1 - β1ᵗ), v̂ = v / (1 - β2ᵗ)

torch's function computes it. Its class of the same name is not taken: to make one imports torch's
compiler, a second and 70 MB that a training never uses.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from regard.errors import CheckpointError

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


class Adam:
    """One update of all weights; `param_groups` and `state` are laid out as torch's."""

    def __init__(self, weights: Sequence[Tensor], after: Callable[[], None] | None = None) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(weights), "lr": 0.0}]
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        self._after = after  # called when weights were moved
        self._fused = weights[0].device.type in ("cpu", "cuda")

    @torch.no_grad()
    def step(self) -> None:
        """Move each weight that has a gradient."""
        group = self.param_groups[0]
        weights = [weight for weight in group["params"] if weight.grad is not None]
        moments = [self.state.get(weight) or self._begin(weight) for weight in weights]
        averages, squares, steps = ([m[name] for m in moments] for name in _MOMENTS)
        gradients = [weight.grad for weight in weights]
        adam(
            weights, gradients, averages, squares, [], steps, fused=self._fused, lr=group["lr"],
            beta1=0.9, beta2=0.98, eps=1e-9, weight_decay=0.0, amsgrad=False, maximize=False,
        )  # fmt: skip
        if self._after is not None:
            self._after()

    def _begin(self, weight: Tensor) -> dict[str, Tensor]:
        zeros = {name: torch.zeros_like(weight) for name in _MOMENTS[:2]}
        count = torch.zeros((), dtype=torch.float32, device=weight.device if self._fused else "cpu")
        self.state[weight] = {**zeros, "step": count}
        return self.state[weight]


def make_adam(model: nn.Module, after: Callable[[], None] | None = None) -> Adam:
    """Adam over all weights that are not frozen; the schedule sets the rate at each step."""
    return Adam([weight for weight in model.parameters() if weight.requires_grad], after)


def optimizer_tensors(optimizer: Adam, model: nn.Module) -> dict[str, Tensor]:
    """Both moments and the step count of every weight, named after it."""
    tensors = {}
    for name, weight in model.named_parameters():
        for moment, value in optimizer.state.get(weight, {}).items():
            tensors[f"{name}.{moment}"] = value
    return tensors


def restore_optimizer(optimizer: Adam, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimizer_tensors`."""
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    expected = {f"{name}.{moment}" for name in trained for moment in _MOMENTS}
    if set(tensors) != expected:
        odd = sorted(set(tensors) ^ expected)
        raise CheckpointError(
            f"optimizer state: {len(odd)} names differ from this model's, the first is {odd[0]!r}; "
            "resume with the recipe that the run was started with"
        )
    for name, weight in trained.items():
        optimizer.state[weight] = {
            moment: tensors[f"{name}.{moment}"].to(weight.device, copy=True) for moment in _MOMENTS
        }
