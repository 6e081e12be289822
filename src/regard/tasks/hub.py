"""Names of the Hugging Face hub → folders of this machine: what is here already is used first."""

import re
from pathlib import Path

from regard.errors import CheckpointError, MisuseError

# What a model needs to run, and no more: no pickled weights, no code, no other framework's files.
PATTERNS = [
    "*.json",
    "*.safetensors",
    "*.model",
    "*.spm",
    "vocab.txt",
    "merges.txt",
]
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


def fetch(name: str) -> Path:
    """The folder of a model of the hub: from the local cache, or else downloaded into it."""
    from huggingface_hub import snapshot_download  # here: it takes a moment, few need it
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
    except (LocalEntryNotFoundError, OSError):
        pass  # not here, or not all of it
    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS))
    except GatedRepoError:
        raise CheckpointError(
            f"{name}: its owners give it on request only; ask on its page of the hub, then log in "
            "with `hf auth login`"
        ) from None
    except RepositoryNotFoundError:
        raise MisuseError(
            f"{name}: no such folder here and no such model on the hub, or not for everyone; "
            "check the name"
        ) from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"{name}: no such folder, the model is not in the local cache of the hub, and the hub "
            f"cannot be reached ({reason}); try again with a network, or give a folder"
        ) from None
