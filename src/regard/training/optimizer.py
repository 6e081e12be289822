"""Adam as in section 5.3 (β1 0.9, β2 0.98, ε 1e-9), and its state as plain named tensors."""

import torch
from torch import Tensor, nn

from regard.errors import CheckpointError

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def make_adam(model: nn.Module) -> torch.optim.Adam:
    """Adam over all weights that are not frozen; the schedule sets the rate at each step."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    fused = weights[0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(weights, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)


def optimizer_tensors(optimizer: torch.optim.Adam, model: nn.Module) -> dict[str, Tensor]:
    """Both moments and the step count of every weight, named after it."""
    tensors = {}
    for name, weight in model.named_parameters():
        for moment, value in optimizer.state.get(weight, {}).items():
            tensors[f"{name}.{moment}"] = value
    return tensors


def restore_optimizer(
    optimizer: torch.optim.Adam, model: nn.Module, tensors: dict[str, Tensor]
) -> None:
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
