"""Where regard keeps things outside the folders it is given: one folder for caches.

$REGARD_CACHE if it is set, else the system's own folder for caches:

    Linux    $XDG_CACHE_HOME/regard, or ~/.cache/regard
    macOS    ~/Library/Caches/regard
    Windows  %LOCALAPPDATA%\\regard\\cache

Everything in it can be deleted at any time; it is made again when it is needed.
"""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The folder; it need not exist yet."""
    named = os.environ.get("REGARD_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "regard" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "regard"
    shared = os.environ.get("XDG_CACHE_HOME")
    # The specification of XDG says that a relative path is to be ignored.
    base = Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache"
    return base / "regard"
