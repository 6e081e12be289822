"""What one training is asked for, and what it gives back; both travel as JSON."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.config import build
from regard.model.spec import Spec
from regard.training.schedule import noam


@dataclass(frozen=True)
class TrainJob:
    """One learner in one process; all that decides what is learnt is the same for all."""

    peer: str
    options: dict[str, Any]
    model: dict[str, Any]  # the fields of a Spec
    plan: Path
    steps: int
    is_validated: bool  # at the end
    warmup: int
    clip: float
    smoothing: float
    seed: int

    @property
    def spec(self) -> Spec:
        return build(Spec, self.model, "job")

    def rate(self, step: int) -> float:
        """The learning rate of a step; the first is 1."""
        return noam(step, self.model["d_model"], self.warmup)


@dataclass(frozen=True)
class Trained:
    """What was measured, step by step."""

    layout: str = ""  # how the step was computed, as given to the peer or chosen by it
    precision: str = ""  # of the matrix products: "fp32" or "bf16"
    chosen: dict[str, Any] = field(default_factory=dict)  # to be given as options from now on
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # smoothed, mean over the target tokens
    validation_loss: float | None = None  # not smoothed, in single precision
    megabytes: float = 0.0
    failure: str = ""
