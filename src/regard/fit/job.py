"""What differs between one objective and another, as one object for fit/trainer.py: a job.

Each file of fit/objectives/ makes its own (`ObjectiveCode`): `code_of` imports it by the name of
the recipe's objective, for "text-to-text" fit/objectives/text_to_text.py. The rows are in
runs/objectives.py, the losses in training/losses.py; most jobs begin with a `StoredJob`, those of
encoders with the one of fit/encoder_job.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from regard.data.batch import Batch
from regard.data.buckets import BatchOrder, Lengths, Numbers, PlannedBatch
from regard.data.mixture import Portion
from regard.data.prefetch import prefetched
from regard.fit.static_vectors import VectorCoverage
from regard.fit.warm_start import WarmStart, take_weights
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.runs.folder import RunFolder
from regard.runs.objectives import OBJECTIVES
from regard.runs.sections import DataSection, Recipe
from regard.training.worker import LossOf


@runtime_checkable
class Validated(Protocol):
    """What a validation found; its fields are kept with the final weights."""

    @property
    def loss(self) -> float:
        """Mean over what is asked for, in the `unit` of its objective; the less, the better."""

    @property
    def numbers(self) -> dict[str, float | None]:
        """For the log, beside the loss."""

    @property
    def score(self) -> float | None:
        """The one of them that the field judges by; the more, the better."""

    def sentence(self) -> str:
        """For a person."""


@dataclass(frozen=True)
class FirstWeights:
    """Where the first weights come from, if not from chance alone."""

    coverage: VectorCoverage | None = None  # static vectors for the embedding
    warm: WarmStart | None = None  # the weights of another model


def first_weights(model: Transformer, start: Path | None) -> FirstWeights:
    """Those of the folder that training begins with, which has the same words; or from chance."""
    if start is None:
        return FirstWeights()
    return FirstWeights(warm=take_weights(model, start, same_words=True))


@runtime_checkable
class Job(Protocol):
    """What is trained, on what, and how it is judged."""

    spec: Spec
    begins_with: Path | None  # the folder that the first weights come from

    @property
    def loss_of(self) -> LossOf:
        """What is minimised."""

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Positions that each training example takes, on either side; 0 where there is none."""

    @property
    def corpora(self) -> Sequence[Portion]:
        """What they come from, with sizes and weights; none where there is only one."""

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        """Batch `number` of `epoch` and all after it, without end."""

    def batch(self, numbers: Numbers) -> Batch:
        """One batch of these examples."""

    def validation(self, model: Transformer, quick: bool = False) -> Validated:
        """How good the model is on what was held out; `quick`: the loss is enough."""

    def start_weights(self, model: Transformer) -> FirstWeights:
        """Give the model its first weights, where they are not from chance."""

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        """Each example of a batch as text again, for a person who looks for what went wrong."""

    def lines(self, survey: Any) -> list[str]:
        """What is trained on, for a person."""

    def remarks(self, survey: Any) -> list[str]:
        """What should be looked at before the first step."""

    def verify(self) -> None:
        """Refuse data that was changed on the disk."""

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        """Remove what no checkpoint needs any more."""


@dataclass
class StoredJob(ABC):
    """What jobs share whose examples lie in stores, `train` and `valid` of their data.

    `Job` says what each of these is; what a batch holds (`at`), what is minimised and how it is
    judged is left to the objective.
    """

    recipe: Recipe
    data: Any  # of the objective: its spec, its stores

    def __post_init__(self) -> None:
        self.spec: Spec = self.data.spec
        self.begins_with = self.recipe.train.start_from

    @property
    @abstractmethod
    def lengths(self) -> tuple[Lengths, Lengths]:
        """As of `Job`."""

    @abstractmethod
    def at(self, place: PlannedBatch) -> Batch:
        """The batch of this place in the order of training."""

    @property
    def corpora(self) -> Sequence[Portion]:
        return ()

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        train = self.recipe.train
        order = BatchOrder(*self.lengths, train.token_budget, train.seed, self.corpora)
        return prefetched(self.at, order.start_at(epoch, number), train.loaders)

    def start_weights(self, model: Transformer) -> FirstWeights:
        return first_weights(model, self.begins_with)

    def remarks(self, survey: Any) -> list[str]:
        return []

    def verify(self) -> None:
        self.data.train.verify()
        self.data.valid.verify()

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        return  # there is nothing that grows


@runtime_checkable
class Survey(Protocol):
    """The data of a recipe, counted and checked."""

    @property
    def data(self) -> DataSection:
        """With the columns that were found."""

    def lines(self) -> list[str]:
        """What was read, for a person."""


@dataclass(frozen=True)
class ObjectiveCode:
    """What a file of fit/objectives/ offers, as CODE."""

    check: Callable[[Recipe], Spec | None]  # refuse early; the spec, as far as it is known then
    survey: Callable[[Recipe], Survey]  # count and check the data
    prepare: Callable[[RunFolder, Recipe, Any], None]  # fill the run's data folder
    load: Callable[[RunFolder, Recipe], Job]  # what was prepared


def code_of(recipe: Recipe) -> ObjectiveCode:
    """Those of its objective."""
    usual = f"regard.fit.objectives.{recipe.objective.replace('-', '_')}"
    module = OBJECTIVES[recipe.objective].module or usual
    return cast(ObjectiveCode, vars(import_module(module))["CODE"])
