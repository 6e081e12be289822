"""The newest checkpoint that is whole; a damaged one is put aside under another name, not deleted.

checkpoints/step-00001200  →  checkpoints/damaged-step-00001200
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from regard.checkpoint.native import Checkpoint, folder_name, load_checkpoint, verify
from regard.errors import DamageError

ASIDE = "damaged-"


def newest_whole(
    root: Path, steps: Sequence[int], expected: Mapping[str, Tensor], say: Callable[[str], None]
) -> tuple[int, Checkpoint] | None:
    """The last of these checkpoints whose checksums hold; None if there are none at all.

    The damaged ones before it are put aside with a warning each. If none is whole, nothing is
    touched: to begin again from nothing is not ours to decide.
    """
    damaged: list[tuple[int, DamageError]] = []
    for step in sorted(steps, reverse=True):
        try:
            checkpoint = load_checkpoint(root, step, expected)
        except DamageError as error:
            damaged.append((step, error))
            continue
        for broken, why in damaged:
            aside = put_aside(root, broken)
            say(f"Warning: {why}.")
            say(f"  That checkpoint now lies in {aside}; taking the one of step {step:,}.")
        return step, checkpoint
    if damaged:
        one = len(damaged) == 1
        which = "its one checkpoint is not" if one else f"none of the {len(damaged)} checkpoints is"
        raise DamageError(f"{root}: {which} whole ({damaged[0][1]}); nothing was changed")
    return None


def whole_steps(root: Path, steps: Sequence[int], say: Callable[[str], None]) -> list[int]:
    """Those of these checkpoints whose checksums hold; each of the others is named and left."""
    good = []
    for step in steps:
        try:
            verify(root / folder_name(step))
            good.append(step)
        except DamageError as error:
            say(f"Warning: {error}; this checkpoint is not used.")
    return good


def put_aside(root: Path, step: int) -> Path:
    """Give a damaged checkpoint a name that nothing reads."""
    name, number = ASIDE + folder_name(step), 1
    while (root / name).exists():
        number += 1
        name = f"{ASIDE}{folder_name(step)}-{number}"
    return (root / folder_name(step)).rename(root / name)
