"""Names of the Hugging Face hub → folders of this machine: what is here already is used first."""

import sys
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.files import is_converted, is_published, read_config_file
from regard.checkpoint.published import FAMILIES, TOKENIZERS
from regard.checkpoint.shards import holds_weights
from regard.errors import CheckpointError, MisuseError
from regard.printable import Careful
from regard.runs.folder import RunFolder

# What a model needs to run, and no more: no pickled weights, no code, no other framework's files.
PATTERNS = [
    "*.json",
    "*.safetensors",
    "*.model",
    "*.spm",
    "vocab.txt",
    "merges.txt",
]
PICKLED_PATTERNS = ["pytorch_model*.bin", "model.pt"]
WAIT = 3.0  # seconds for the hub to answer, where the model runs without it too


def fetch(name: str, allow_pickle: bool = False) -> Path:
    """The folder of a model of the hub: from the local cache, or else downloaded into it.

    Pickled weights are fetched only when they are allowed and there are no others.
    """
    here = _cached(name)
    if here and (_is_whole(here) or (allow_pickle and holds_weights(here, is_pickled=True))):
        return here if not _lacks(here) else _completed(name, here)
    try:
        folder = _download(name, PATTERNS)
    except CheckpointError:
        if here and holds_weights(here, is_pickled=True):
            return here  # whoever loads it says that these are pickled, and what to do
        raise
    if _is_whole(folder):
        return folder
    if not allow_pickle:
        raise CheckpointError(
            f"{name}: no safe weights on the hub: looked for model.safetensors, and "
            "model.safetensors.index.json with its shards; where the weights are pickled "
            f"(pytorch_model.bin), `regard convert {name} OUT --to hf --allow-pickle` fetches "
            "them, reads plain tensors only and writes a folder that runs"
        )
    folder = _download(name, [*PATTERNS, *PICKLED_PATTERNS])
    if not holds_weights(folder, is_pickled=True):
        raise CheckpointError(
            f"{name}: no weights on the hub that regard reads: looked for model.safetensors, "
            "pytorch_model.bin, model.pt, and indices with all their shards; look at the model's "
            "page for another form of it"
        )
    return folder


def _is_whole(folder: Path) -> bool:
    """A snapshot may hold no more than a config: another program fetched it, or was stopped."""
    return holds_weights(folder) or is_converted(folder)


def _lacks(folder: Path) -> bool:
    """Whether files around the weights are missing: another program fetched only what it needed.

    Images need their preparation, text a tokenizer, and a model without a head may be an encoder of
    sentences, whose modules.json says how tokens become one vector.
    """
    run = RunFolder(folder)
    if run.info.is_file():  # handed on by `push_to_hub`
        return not run.tokenizer.is_file()
    if not is_published(folder):
        return True
    config = read_config_file(folder)
    family = FAMILIES.get(str(config.get("model_type")))
    if family is None:
        return False  # whoever loads it says so
    if family.reads_images:
        return not (folder / "preprocessor_config.json").is_file()
    is_bare = Config(config, "").architecture() == family.architectures.get("none")
    return not any((folder / name).is_file() for name in TOKENIZERS) or (
        is_bare and not (folder / "modules.json").is_file()
    )


def _completed(name: str, here: Path) -> Path:
    """The snapshot, with the files that it lacks where the hub can be asked for them."""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(name, timeout=WAIT)  # a download has no such limit
        return _download(name, PATTERNS, revision=here.name)
    except Exception:  # whatever network there is or is not: the model runs as it is
        return here


def _cached(name: str) -> Path | None:
    from huggingface_hub import snapshot_download  # here: it takes a moment, few need it

    try:  # any snapshot: what it holds is looked at here
        return Path(snapshot_download(name, allow_patterns=["config.json"], local_files_only=True))
    except OSError:  # LocalEntryNotFoundError is one too
        return None


def _download(name: str, patterns: list[str], revision: str | None = None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    # The library's bars redraw their lines, which texts may not: they go to the stream below.
    stream: Any = sys.stderr
    plain = stream.plain if isinstance(stream, Careful) else stream
    try:
        with redirect_stderr(plain):
            return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except GatedRepoError:
        advice = "ask on its page of the hub, then log in with `hf auth login`"
        raise CheckpointError(name, "its owners give it on request only", advice=advice) from None
    except RepositoryNotFoundError:
        problem = "no such folder here and no such model on the hub, or not for everyone"
        raise MisuseError(name, problem, advice="check the name") from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"{name}: no such folder, the model is not in the local cache of the hub, or not all "
            f"of it, and the hub cannot be reached ({reason}); try again with a network, or give "
            "a folder"
        ) from None
