"""The final weights of a run: the best checkpoint or the average of the last, by validation.

Until the state is "finished", `load` takes the best checkpoint: a crash between the files that are
written here leaves a run that works and can be resumed.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from torch import Tensor

from regard.checkpoint import training_state
from regard.checkpoint.files import steps_saved
from regard.checkpoint.guard import load_into
from regard.checkpoint.training_state import whole_steps
from regard.checksums import sha256
from regard.fit.checkpoints import CheckpointManager
from regard.fit.job import Validated
from regard.model.transformer import Transformer
from regard.printable import Say
from regard.runs.folder import RunFolder, write_own_json
from regard.runs.sections import TrainSection
from regard.training.state import Progress

Candidates = dict[str, dict[str, Tensor]]


def final_candidates(
    model: Transformer,
    progress: Progress,
    checkpoints: CheckpointManager,
    train: TrainSection,
    say: Say,
) -> Candidates:
    """Each set of weights that may be taken, under the words that name it."""
    weights = dict(model.named_parameters())
    saved = whole_steps(checkpoints.root, steps_saved(checkpoints.root), say)
    candidates: Candidates = {}
    if progress.step not in saved:  # the disk was full: they exist in memory only
        now = {name: weight.detach().clone() for name, weight in weights.items()}
        candidates[f"those of the last step ({progress.step:,})"] = now
    if saved:
        best = progress.best_step if progress.best_step in saved else saved[-1]
        checkpoint = training_state.load_weights(checkpoints.root, best, weights)
        candidates[f"the best checkpoint (step {best:,})"] = checkpoint
    last = [step for step in checkpoints.regular_steps(train)[-train.average :] if step in saved]
    if len(last) > 1:
        which = f"the last {len(last)} checkpoints (steps {last[0]:,} to {last[-1]:,})"
        average = training_state.average_weights(checkpoints.root, last, weights)
        candidates[f"the average of {which}"] = average
    return candidates


def lower_is_better(validated: Validated, train: TrainSection) -> float:
    """What validations are compared by: the loss, or the score (train.choose_by)."""
    score = validated.score if train.choose_by == "score" else None
    return validated.loss if score is None else -score


@dataclass(frozen=True)
class FinalChoice:
    """The candidate that validation finds best."""

    name: str
    validated: Validated

    def sentence(self) -> str:
        return f"Final weights: {self.name}; {self.validated.sentence()}"


def choose_final(
    model: Transformer,
    candidates: Candidates,
    validation: Callable[[], Validated],
    train: TrainSection,
) -> FinalChoice:
    """Validate each candidate; the best one is in the model afterwards. Nothing is written."""
    scored: dict[str, Validated] = {}
    for name, weights in candidates.items():
        load_into(model, weights)
        scored[name] = validation()
    chosen = min(scored, key=lambda name: lower_is_better(scored[name], train))
    load_into(model, candidates[chosen])
    return FinalChoice(chosen, scored[chosen])


def write_final(run: RunFolder, weights: dict[str, Tensor], chosen: FinalChoice) -> None:
    """The weights, and beside them where they come from."""
    training_state.save_weights(run.weights, weights)
    write_own_json(
        run.weights_info,
        {
            "from": chosen.name,
            **asdict(chosen.validated),  # type: ignore[call-overload]
            "sha256": sha256(run.weights),
        },
    )
