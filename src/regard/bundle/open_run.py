"""Opening a run: its small files are whole, or an error says what is there instead."""

from pathlib import Path

from regard.bundle.box import models_in_the_box
from regard.bundle.named import near_short_name
from regard.checkpoint.files import is_published, read_own_json
from regard.checksums import check, note_once, read_checksums
from regard.errors import CheckpointError, MisuseError, RegardError
from regard.runs.folder import DATA, LOCK, SEALED, RunFolder, typed

KNOWN_BY = ("run.json", "config.json")  # a run, a published model


def open_run(folder: Path) -> RunFolder:
    """An existing run whose small files are whole, or an error that names what is there instead."""
    run = RunFolder(folder)
    if run.is_preparing():
        raise _unprepared(run)
    if run.info.exists():
        _check_small_files(run)
        return run
    if folder.is_file():
        raise MisuseError(folder, "is a file", expected="the folder of a run")
    if is_published(folder):
        raise MisuseError(folder, "a published model", expected="a run, made by `regard train`")
    if folder.is_dir() and run.is_blank() and (folder / LOCK).exists():
        raise CheckpointError(
            f"{folder}: a training that was killed before it could write anything; the same "
            f"`regard train … --run {typed(folder)}` begins it again"
        )
    if folder.is_dir():
        begun = run.recipe.exists() or run.data.exists()
        advice = "a training that was killed while it prepared its data; delete it and train again"
        raise CheckpointError(
            f"{folder}: neither a run (no run.json) nor a published model (no config.json)"
            f"{f': {advice}' if begun else '; `regard doctor` says what it holds'}"
        )
    if str(folder) in models_in_the_box():
        raise MisuseError(
            f"{folder}: a model in the box, which has no training to look at or to go on with; "
            f"`regard train {models_in_the_box()[str(folder)].card['recipe']}` trains one like it"
        )
    neighbours = {info.parent for name in KNOWN_BY for info in folder.parent.glob(f"*/{name}")}
    listed = f"; here are {', '.join(sorted(map(str, neighbours))[-5:])}" if neighbours else ""
    trained = f"; `regard train` makes a run, the box has {', '.join(models_in_the_box())}"
    listed = near_short_name(folder) or listed or trained
    raise MisuseError(folder, "no such folder", advice=listed)


def _check_small_files(run: RunFolder) -> None:
    """All that a run is opened with; weights and data are looked at by those who read them."""
    stated = read_checksums(run.folder)
    if stated is None:
        note_once(
            run.folder,
            f"{run.folder} was made before regard kept checksums, so damage to its files may go "
            f"unnoticed; `regard train --resume {typed(run.folder)}` adds them.",
        )
    else:
        check(run.folder, [name for name in stated if not name.startswith(DATA)])
    for name in SEALED:
        if (run.folder / name).exists():
            read_own_json(run.folder / name)


def _unprepared(run: RunFolder) -> RegardError:
    """A run that has not had its first step: what it waits for, or how to begin it again."""
    if run.is_held():
        problem = "another process prepares the data of this run"
        advice = "there is nothing to use or to go on with before its first step"
        return MisuseError(run.folder, problem, advice=advice)
    return CheckpointError(
        f"{run.folder}: a training that was killed while it prepared its data, before its first "
        f"step; nothing else is lost. `regard train {run.begun_with()} --run {typed(run.folder)}` "
        "begins it again in the same folder"
    )
