"""What is left of a run to go on from, and what can be done where that is nothing.

A run that was stopped before its first checkpoint begins again, and loses nothing by it. One that
has checkpoints behind it, all of them gone, would begin again too, write its log anew and no longer
count as finished: so it is refused.
"""

from regard.checkpoint.files import read_own_json, steps_saved
from regard.checksums import sha256
from regard.errors import CheckpointError
from regard.printable import counted
from regard.runs.folder import RunFolder, typed
from regard.runs.log import read_log
from regard.runs.objectives import objective_of


def check_remains(run: RunFolder) -> None:
    """Refuse a run that has steps behind it and no checkpoint to go on from."""
    run.check_places()
    behind = steps_behind(run)
    if not behind or steps_saved(run.checkpoints):
        return
    place = "holds no checkpoint" if run.checkpoints.is_dir() else "is gone"
    raise CheckpointError(
        f"{run.folder}: has {counted(behind, 'step')} behind it, and {run.checkpoints} "
        f"{place}, so there is nothing to go on from; nothing was changed. {what_can_be_done(run)}"
    )


def steps_behind(run: RunFolder) -> int:
    """The last step that was saved once, as far as the other files tell; 0: none ever was.

    A validation in the log was followed by a checkpoint if steps came after it; what was logged
    before that is no more than what is done again.
    """
    info = run.read_info()
    records = read_log(run.log)
    last = max((record["step"] for record in records), default=0)
    saved = info.get("step")
    if isinstance(saved, int) and saved > 0:
        return max(saved, last)
    checks = [record["step"] for record in records if record["kind"] == "validation"]
    was_saved = bool(checks) and checks[0] < last
    has_ended = info.get("state") == "finished" or run.weights.exists()
    return max(last, 1) if was_saved or has_ended else 0


def has_final_weights(run: RunFolder) -> bool:
    """Whether they are there as they were written."""
    if not run.weights.is_file() or not run.weights_info.is_file():
        return False
    try:
        return read_own_json(run.weights_info).get("sha256") == sha256(run.weights)
    except (CheckpointError, OSError):
        return False


def what_can_be_done(run: RunFolder) -> str:
    """With a run whose checkpoints are of no use: copy, use, begin another."""
    name = typed(run.folder)
    again = f"train anew: `regard train {run.begun_with()}` with another --run"
    if not has_final_weights(run):
        return f"Copy the checkpoints back from where they are whole, or {again}"
    task = objective_of(run).offers[0]
    return (
        f'Its final weights are whole: `regard {task} {name} "…"` uses them, and a new run begins '
        f"with them by train.start_from={name}. To go on with this one, copy the checkpoints back "
        f"from where they are whole; or {again}"
    )
