"""Where a run stands: everything besides weights and optimizer that exact resume needs."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Progress:
    """Position in the data, best score and patience; plain numbers, saved as JSON."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of the epoch that were used
    seconds: float = 0.0  # spent in training so far
    tokens: int = 0
    best_loss: float | None = None
    best_step: int = 0
    since_best: int = 0  # validations without improvement


def random_state() -> dict[str, Tensor]:
    """The state of torch's default generators (dropout draws from them)."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    if torch.backends.mps.is_available():
        state["mps"] = torch.mps.get_rng_state()
    return state


def restore_random_state(state: dict[str, Tensor]) -> None:
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    if "mps" in state and torch.backends.mps.is_available():
        torch.mps.set_rng_state(state["mps"])
