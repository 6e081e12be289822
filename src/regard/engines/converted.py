"""The ctranslate2 engine of a model, on the folder of its precision: opened, or made first.

Opening measures nothing (that is engines/autotune.py) and imports no torch; making it does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regard import atomic
from regard.bundle.bundle import Bundle
from regard.bundle.engine_choice import ENGINES
from regard.checkpoint.ctranslate2_info import SHORTLIST, has_shortlist, is_fresh, read_pieces
from regard.checksums import add_checksums
from regard.data.shortlist import learn_shortlist, write_shortlist
from regard.data.store import Store
from regard.decode.engine import Engine, Layout
from regard.engines.work import Work, work_of
from regard.errors import CheckpointError, MisuseError
from regard.printable import Say, to_log

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
    folder, work = bundle.path / ENGINES / f"ctranslate2-{layout.precision}", work_of(bundle)

    def opened() -> Engine:
        if shortlist and not has_shortlist(folder):
            _learn_shortlist(bundle, folder)
        return work.opened(folder, layout, shortlist)

    try:
        if is_fresh(folder, weights, layout.precision, bundle.settings.rules.never):
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


def add_shortlist(folder: Path, corpus: Path) -> None:
    """Learn a shortlist from the training pairs of a run; one that is there stays."""
    if has_shortlist(folder):
        return
    store = Store.open(corpus)
    store.verify()
    # Evenly from all over: a corpus may be sorted, and is not read to its end.
    step = max(1, len(store) // 50_000)
    source, target = store["source"], store["target"]
    pairs = ((source[i], target[i]) for i in range(0, len(store), step))
    learned = learn_shortlist(pairs, source.below)
    write_shortlist(folder / SHORTLIST, learned, read_pieces(folder))
    add_checksums(folder, [SHORTLIST])
