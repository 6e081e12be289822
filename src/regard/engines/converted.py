"""The ctranslate2 engine of a model, on the folder of its precision: opened, or made first.

Opening measures nothing (that is engines/autotune.py) and imports no torch; making it does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regard import atomic
from regard.bundle.bundle import Bundle
from regard.bundle.engine_choice import ENGINES, Say, to_log
from regard.checkpoint.ctranslate2_info import has_shortlist, is_fresh
from regard.decode.engine import Engine, Layout
from regard.engines.continuing import Continuing
from regard.engines.shortlist import add_shortlist
from regard.engines.translating import Translating
from regard.engines.work import Work
from regard.errors import CheckpointError, MisuseError

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

Network = Callable[[], "Transformer"]  # the model, read when it is needed


def work_of(bundle: Bundle) -> Work:
    """What its engines are asked for; a stored choice says it without torch."""
    if bundle.choice is not None:
        continues = bundle.choice.task == "complete"
    else:
        continues = "complete" in bundle.tasks
    return Continuing(bundle) if continues else Translating(bundle)


def converted_engine(
    bundle: Bundle,
    transformer: Network,
    weights: str,
    layout: Layout,
    shortlist: bool = False,
    say: Say = to_log,
) -> Engine:
    """The ctranslate2 engine on the folder of its precision, which is made if it is not fresh.

    A damaged file is told, and the folder made again from the weights, once.
    """
    folder, work = bundle.path / ENGINES / f"ctranslate2-{layout.precision}", work_of(bundle)

    def opened() -> Engine:
        if not is_fresh(folder, weights, layout.precision, bundle.settings.rules.never):
            _convert(work, transformer, folder, weights, layout.precision)
        if shortlist and not has_shortlist(folder):
            _learn_shortlist(bundle, folder)
        return work.opened(folder, layout, shortlist)

    try:
        return opened()
    except CheckpointError as error:
        what = str(error).partition(";")[0]
        say(f"{what}: the engine is made again from the weights.")
        _convert(work, transformer, folder, weights, layout.precision)
        return opened()


def _convert(work: Work, transformer: Network, folder: Path, weights: str, precision: str) -> None:
    model = transformer()
    if folder.is_symlink():  # it may lead to a folder of somebody's own, which would be replaced
        folder.unlink()
    with atomic.new_folder(folder) as temporary:
        work.write(model, temporary, weights, precision)


def _learn_shortlist(bundle: Bundle, folder: Path) -> None:
    corpus = bundle.path / "data" / "train"
    if not corpus.is_dir():
        problem = f"{bundle.path} has no training pairs to learn it from"
        raise MisuseError("--shortlist", problem, advice="only runs of `regard train` have")
    add_shortlist(folder, corpus)
