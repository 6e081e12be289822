"""What happens after a step that was not taken: said, logged, and after too many of them, ended.

The rules and their constants are in training/watch.py.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import save

from regard import atomic
from regard.data.batch import Batch
from regard.errors import DivergedError
from regard.fit.checkpoints import CheckpointManager
from regard.printable import Say
from regard.runs.folder import RunFolder
from regard.runs.log import Log
from regard.training.loop import Step
from regard.training.state import Progress
from regard.training.watch import IN_A_ROW, ROLLBACKS, SPIKES, remember

TextsOfBatch = Callable[[Batch], list[dict[str, Any]]]  # of each example of a batch
SHOWN = 8  # numbers of examples on the screen; the log has all


def report_skipped(step: Step, log: Log, say: Say) -> None:
    """A line for the eye and a record with the number of every example."""
    assert step.skip_reason is not None
    examples = [number for batch in step.group for number in batch.examples]
    log.write(
        "skipped",
        step.number,
        reason=step.skip_reason.reason,
        loss=_plain(step.plain_loss),
        gradient_norm=_plain(step.gradient_norm),
        examples=examples,
    )
    shown = ", ".join(map(str, examples[:SHOWN])) + (", …" if len(examples) > SHOWN else "")
    say(
        f"step {step.number:,}: skipped, {step.skip_reason.reason}; "
        f"{len(examples)} examples, numbers {shown}"
    )


def note_step(
    step: Step,
    progress: Progress,
    checkpoints: CheckpointManager,
    texts: TextsOfBatch,
    log: Log,
    say: Say,
) -> bool:
    """Remember how a step went, and say if it was not taken; True when it is time to go back to the
    last checkpoint.

    Raises DivergedError when it is time to give up.
    """
    remember(progress, step.plain_loss, step.skip_reason)
    if step.skip_reason is None:
        return False
    report_skipped(step, log, say)
    if progress.in_a_row >= IN_A_ROW:
        why = f"{IN_A_ROW} steps in a row were skipped"
    elif progress.spikes >= SPIKES and progress.rollbacks >= ROLLBACKS:
        why = f"the loss jumped again after {ROLLBACKS} returns to one checkpoint"
    else:
        return progress.spikes >= SPIKES
    checkpoints.note(state="failed")
    raise _given_up(step, why, checkpoints.run, texts)


def _given_up(step: Step, why: str, run: RunFolder, texts: TextsOfBatch) -> DivergedError:
    assert step.skip_reason is not None
    folder = run.folder / f"dump-step-{step.number:08d}"
    try:
        dump(step, folder, texts)
        where = f"the last batch is in {folder}"
    except OSError as error:
        where = f"its batch could not be written to {folder}: {error.strerror}"
    return DivergedError(
        f"step {step.number:,}: {why}, at last because {step.skip_reason.reason}; {where}, and "
        f"{run.log} names all examples. Look at them, or train again with a lower train.factor or "
        "a longer train.warmup"
    )


def dump(step: Step, place: Path, texts: TextsOfBatch) -> None:
    """The batch of a step for people (batch.json) and for programs (batch.safetensors)."""
    assert step.skip_reason is not None
    facts = {
        "step": step.number,
        "reason": step.skip_reason.reason,
        "loss": _plain(step.loss),
        "gradient_norm": _plain(step.gradient_norm),
        "learning_rate": step.learning_rate,
        "examples": [row for batch in step.group for row in texts(batch)],
    }
    tensors = {
        f"{number}.{name}": tensor.cpu().contiguous()
        for number, batch in enumerate(step.group)
        for name, tensor in batch.tensors.items()
    }
    with atomic.new_folder(place) as folder:
        text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        (folder / "batch.json").write_text(text, encoding="utf-8")
        (folder / "batch.safetensors").write_bytes(save(tensors))


def _plain(number: float) -> float | str:
    """JSON has no NaN; a text says it for every reader."""
    return number if math.isfinite(number) else str(number)
