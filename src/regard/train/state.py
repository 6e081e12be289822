"""Where a run stands: everything besides weights and optimizer that exact resume needs.

Chance has no state to keep: order and dropout are drawn anew for each epoch and step, from the seed
and its number.
"""

from dataclasses import dataclass


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
    since_cut: int = 0  # of schedule = "plateau": validations since the rate was cut or one helped
    rate_cuts: int = 0  # how often it was cut
