"""A job: all that differs between one objective and another, as one object for fit/trainer.py.

fit/translation.py is the job of translating, fit/encoder_job.py those of an encoder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from regard.data.buckets import Lengths, Numbers, PlannedBatch
from regard.data.mixture import Portion
from regard.data.text_batch import AnyBatch
from regard.fit.static_vectors import Coverage
from regard.fit.warm_start import WarmStart
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.training.worker import LossOf


@runtime_checkable
class Validated(Protocol):
    """What a validation found; its fields are kept with the final weights."""

    @property
    def loss(self) -> float:
        """In nats, mean over what is asked for; the less, the better."""
        ...

    @property
    def numbers(self) -> dict[str, float | None]:
        """For the log, beside the loss."""
        ...

    @property
    def score(self) -> float | None:
        """The one of them that the field judges by; the more, the better."""
        ...

    def sentence(self) -> str:
        """For a person."""
        ...


@dataclass(frozen=True)
class Began:
    """Where the first weights come from, if not from chance alone."""

    coverage: Coverage | None = None  # static vectors for the embedding
    warm: WarmStart | None = None  # the weights of another model


@runtime_checkable
class Job(Protocol):
    """What is trained, on what, and how it is judged."""

    spec: Spec
    objective: LossOf
    begins_with: Path | None  # the folder that the first weights come from

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Of all training examples, as data/buckets.py counts them."""
        ...

    @property
    def parts(self) -> Sequence[Portion]:
        """The corpora that they belong to."""
        ...

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, AnyBatch]]:
        """Batch `number` of `epoch` and all after it, without end."""
        ...

    def batch(self, numbers: Numbers) -> AnyBatch:
        """One batch of these examples."""
        ...

    def validation(self, model: Transformer, quick: bool = False) -> Validated:
        """How good the model is on what was held out; `quick`: the loss is enough."""
        ...

    def start_weights(self, model: Transformer) -> Began:
        """Give the model its first weights, where they are not from chance."""
        ...

    def examples(self, batch: AnyBatch) -> list[dict[str, Any]]:
        """Each example of a batch as text again, for a person who looks for what went wrong."""
        ...

    def verify(self) -> None:
        """Refuse data that was changed on the disk."""
        ...

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        """Remove what no checkpoint needs any more."""
        ...
