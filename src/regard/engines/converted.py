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
from regard.decode.engines.ctranslate2 import CTranslate2Engine
from regard.engines.shortlist import add_shortlist
from regard.errors import CheckpointError, MisuseError

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

Network = Callable[[], "Transformer"]  # the model, read when it is needed


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
    folder = bundle.path / ENGINES / f"ctranslate2-{layout.precision}"

    def opened() -> Engine:
        if not is_fresh(folder, weights, layout.precision, bundle.settings.rules.never):
            _convert(bundle, transformer, folder, weights, layout.precision)
        if shortlist and not has_shortlist(folder):
            _learn_shortlist(bundle, folder)
        frame, rules = bundle.codec.frame, bundle.settings.rules
        return CTranslate2Engine(folder, frame, rules, layout, bundle.limit, shortlist=shortlist)

    try:
        return opened()
    except CheckpointError as error:
        what = str(error).partition(";")[0]
        say(f"{what}: the engine is made again from the weights.")
        _convert(bundle, transformer, folder, weights, layout.precision)
        return opened()


def _convert(
    bundle: Bundle, transformer: Network, folder: Path, weights: str, precision: str
) -> None:
    from regard.checkpoint.to_ctranslate2 import write_ctranslate2  # imports torch

    model = transformer()
    if folder.is_symlink():  # it may lead to a folder of somebody's own, which would be replaced
        folder.unlink()
    with atomic.new_folder(folder) as temporary:
        write_ctranslate2(
            model,
            temporary,
            bundle.codec.vocabulary(model.spec.vocabulary),
            start=bundle.codec.frame.start,
            end=bundle.codec.frame.end,
            never=bundle.settings.rules.never,
            precision=precision,
            weights=weights,
        )


def _learn_shortlist(bundle: Bundle, folder: Path) -> None:
    corpus = bundle.path / "data" / "train"
    if not corpus.is_dir():
        raise MisuseError(
            f"--shortlist: {bundle.path} has no training pairs to learn it from; only runs of "
            "`regard train` have"
        )
    add_shortlist(folder, corpus)
