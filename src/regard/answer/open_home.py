"""A model that translates, opened: without torch where a stored choice of engine allows it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.engine_choice import read_choice
from regard.bundle.generation_settings import read_settings
from regard.bundle.home import (
    Home,
    home_of_published,
    home_of_run,
    parts_of_run,
    weights_of_published,
)
from regard.bundle.named import folder_of
from regard.bundle.open_run import open_run
from regard.checkpoint.files import is_converted, is_published
from regard.checksums import check
from regard.runs.folder import Run
from regard.text.published import load_tokenizer

if TYPE_CHECKING:
    from regard.model.transformer import Transformer


def open_home(path: str | Path, device: str = "auto") -> Home:
    """The folder of a model that translates, without torch where a stored choice allows it."""
    folder = folder_of(path)
    published = is_published(folder) and not Run(folder).info.is_file()
    if published:
        if is_converted(folder):
            check(folder)
        choice = read_choice(folder, weights_of_published(folder))
        tokenizer = load_tokenizer(folder) if choice else None
        if choice is None or tokenizer is None or choice.engine == "torch":
            return _loaded_home(folder, device)
        settings = read_settings(folder, choice.vocabulary)
        load = _loader(folder, device)
        return home_of_published(folder, tokenizer, settings, None, load, device, choice)
    run = open_run(folder)
    return home_of_run(run, *parts_of_run(run), _loader(folder, device), device)


def _loader(folder: Path, device: str) -> "Callable[[], Transformer]":
    """Reads the weights when it is called: torch is imported then."""

    def read() -> "Transformer":
        from regard.answer.load import load  # imports torch

        return load(folder, device).transformer

    return read


def _loaded_home(folder: Path, device: str) -> Home:
    """Of a published model that has to be opened first."""
    from regard.answer.published import open_published  # imports torch

    model = open_published(folder, device)
    return model.home("translate")
