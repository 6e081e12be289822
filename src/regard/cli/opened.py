"""A model for a command: opened, and asked whether it offers the task."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.api.model import Model


def opened(path: Path, task: str, device: str, precision: str = "auto") -> "Model":
    """The model, or an error that lists what it offers instead."""
    from regard.api.model import load

    model = load(path, device, precision=precision)
    model.demand(task)
    if task in ("complete", "generate"):
        warn_of_settings(model)
    return model


def warn_of_settings(model: "Model") -> None:
    """Name what the folder asks for when text is made and regard does not do."""
    if model.bundle.settings.warning:
        click.echo(model.bundle.settings.warning, err=True)
