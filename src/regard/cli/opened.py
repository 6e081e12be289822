"""A published model for a command: opened, and asked whether it offers the task."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.answer.published import Published


def opened(path: Path, task: str, device: str, precision: str = "auto") -> "Published":
    """The model, or an error that lists what it offers instead."""
    from regard.answer.load import load
    from regard.answer.published import Published

    model = load(path, device, precision=precision)
    model.demand(task)
    assert isinstance(model, Published), task  # a run offers translation only
    if task in ("complete", "generate"):
        warn_of_settings(model)
    return model


def warn_of_settings(model: "Published") -> None:
    """Name what the folder asks for when text is made and regard does not do."""
    if model.settings.warning:
        click.echo(model.settings.warning, err=True)
