"""A .npy file as a memory map, or an error that names it."""

from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from regard.errors import CheckpointError, RegardError
from regard.untrusted import file_size


def mapped(path: Path, refusal: type[RegardError] = CheckpointError) -> NDArray[Any]:
    """The array of a file: no pickle and no zip, whatever the file says it is."""
    try:
        file_size(path)
        return npy.open_memmap(path, mode="r")
    except Exception as error:  # NumPy parses a header as Python: damaged, it raises anything
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise refusal(path, f"cannot be read: {reason}") from None
