"""Which words are names of the hub, not paths; apart from hub.py, because it needs no torch."""

import re
from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def is_hub_name(path: str | Path) -> bool:
    """Whether this reads like "owner/name" of the hub and cannot be a folder of this machine.

    A name whose first part is a folder here is a path with a typo, not a name of the hub.
    """
    text = str(path)
    return (
        NAME.fullmatch(text) is not None
        and not Path(text).exists()
        and not Path(text).parent.is_dir()
    )
